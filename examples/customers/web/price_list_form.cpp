#include "web/price_list_form.hpp"

#include "domain/text.hpp"
#include "web/numbers.hpp"

namespace customers::web {

Fields fields_of(const PriceList& list) {
    Fields fields;
    fields.add("version", std::to_string(list.revision.version));
    std::size_t position = 0;
    for (const Price& price : list.prices) {
        const std::string number = std::to_string(++position);
        fields.add("item." + number, price.item);
        fields.add("price." + number, price_text(price.cents));
    }
    return fields;
}

std::optional<PriceList> price_list_from(const Fields& fields, const std::string& id) {
    PriceList list{.id = id};
    list.revision.version = integer_from(fields.get("version")).value_or(0);
    for (std::size_t position = 1; fields.has("item." + std::to_string(position)); ++position) {
        const std::string number = std::to_string(position);
        std::string item = tidy(fields.get("item." + number));
        if (item.empty()) continue;
        const auto cents = cents_from(tidy(fields.get("price." + number)));
        if (!cents || *cents > PriceList::highest_cents || !is_short(item)) return std::nullopt;
        list.prices.push_back({.item = std::move(item), .cents = *cents});
    }
    return list;
}

}  // namespace customers::web
