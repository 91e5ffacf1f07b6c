#include "web/forms.hpp"

#include <charconv>
#include <map>
#include <utility>

#include "domain/text.hpp"

namespace customers::web {
namespace {

// "4.50" as 450.
std::optional<std::int64_t> cents_from(std::string_view text) {
    constexpr std::size_t most_digits = 12;
    const std::size_t point = text.find('.');
    std::string digits{text.substr(0, point)};
    const std::string_view fraction = point == std::string_view::npos ? "" : text.substr(point + 1);
    if (digits.empty() || digits.size() > most_digits || fraction.size() > 2) return std::nullopt;
    digits.append(fraction).append(2 - fraction.size(), '0');
    return integer_from(digits);
}

std::string_view word_of(std::string_view field) {
    static const std::map<std::string_view, std::string_view> words{
        {"name", "Name"}, {"email", "E-mail"}, {"phone", "Phone"},
        {"note", "Note"}, {"label", "Label"},  {"street", "Street"},
        {"city", "City"}, {"item", "Item"},    {"price", "Price"}};
    const auto found = words.find(field);
    return found == words.end() ? field : found->second;
}

}  // namespace

Fields fields_of(const Customer& customer) {
    Fields fields;
    fields.add("version", std::to_string(customer.revision.version));
    fields.add("name", customer.name);
    fields.add("email", customer.email);
    fields.add("phone", customer.phone);
    fields.add("note", customer.note);
    std::size_t position = 0;
    for (const Address& address : customer.addresses) {
        const std::string prefix = fmt::format("address.{}.", ++position);
        fields.add(prefix + "label", address.label);
        fields.add(prefix + "street", address.street);
        fields.add(prefix + "city", address.city);
    }
    return fields;
}

Fields fields_of(const PriceList& list) {
    Fields fields;
    fields.add("version", std::to_string(list.revision.version));
    std::size_t position = 0;
    for (const Price& price : list.prices) {
        fields.add(fmt::format("item.{}", ++position), price.item);
        fields.add(fmt::format("price.{}", position), price_text(price.cents));
    }
    return fields;
}

template <>
Typed<Customer> read_form(const Fields& form, const std::string& id) {
    const auto typed = [&](const std::string& name) { return tidy(form.get(name)); };
    Customer customer{.id = id,
                      .name = typed("name"),
                      .email = typed("email"),
                      .phone = typed("phone"),
                      .note = typed("note")};
    customer.revision.version = integer_from(form.get("version")).value_or(0);
    for (std::size_t position = 1; position <= Customer::most_addresses; ++position) {
        const std::string prefix = fmt::format("address.{}.", position);
        Address address{.label = typed(prefix + "label"),
                        .street = typed(prefix + "street"),
                        .city = typed(prefix + "city")};
        if (!address.is_empty()) customer.addresses.push_back(std::move(address));
    }
    auto problems = problems_of(customer);
    Fields fields = fields_of(customer);
    return {std::move(customer), std::move(fields), std::move(problems)};
}

template <>
Typed<PriceList> read_form(const Fields& form, const std::string& id) {
    PriceList list{.id = id};
    list.revision.version = integer_from(form.get("version")).value_or(0);
    for (std::size_t position = 1; form.has(fmt::format("item.{}", position)); ++position) {
        std::string item = tidy(form.get(fmt::format("item.{}", position)));
        if (item.empty()) continue;
        const auto cents = cents_from(tidy(form.get(fmt::format("price.{}", position))));
        if (!cents || *cents > PriceList::highest_cents || !is_short(item)) {
            return {.fields = form, .problems = {"A price is a number like 4.50."}};
        }
        list.prices.push_back({.item = std::move(item), .cents = *cents});
    }
    Fields fields = fields_of(list);
    return {std::move(list), std::move(fields)};
}

Html label_of(Language language, std::string_view field) {
    const std::size_t dot = field.find('.');
    if (dot == std::string_view::npos) return html("{}", in(language, word_of(field)));
    const std::string_view rest = field.substr(dot + 1);
    const std::size_t second = rest.find('.');
    if (second == std::string_view::npos) {
        return html("{} {}", in(language, word_of(field.substr(0, dot))), rest);
    }
    return html(language, "[[Address]] {}, {}", rest.substr(0, second),
                in(language, word_of(rest.substr(second + 1))));
}

std::optional<std::int64_t> integer_from(std::string_view text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size() || number < 0) return std::nullopt;
    return number;
}

std::string price_text(std::int64_t cents) {
    return fmt::format("{}.{:02}", cents / 100, cents % 100);
}

}  // namespace customers::web
