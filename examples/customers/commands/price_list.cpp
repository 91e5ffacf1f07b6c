#include <array>

#include "commands/record_commands.hpp"
#include "domain/text.hpp"

// The price list: its commands, form and pages. There is one. Reading it takes a shared lock,
// editing it an exclusive one.
namespace customers {

using namespace web;

template <>
struct Kind<PriceList> {
    static std::string id(const Visit&) { return standard_prices; }
    static Locking<PriceList>& records(Visit& visit) { return visit.work.price_lists(); }
    static std::string title(const PriceList&, Language language) {
        return std::string{in(language, "Price list")};
    }
    static Fields fields(const PriceList& list);
    static Typed<PriceList> read(const Fields& form, const std::string& id);
    static Response page(const Viewer& viewer, const Form& form, int status);
};

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

// 450 as "4.50".
std::string price_text(std::int64_t cents) {
    return fmt::format("{}.{:02}", cents / 100, cents % 100);
}

Html table(Language language, const Html& rows) {
    return html(
        language,
        R"(<table><thead><tr><th scope="col">[[Item]]</th><th scope="col" class="number">[[Price]]</th></tr></thead><tbody>
{}</tbody></table>
)",
        rows);
}

// Shows who reads or edits the price list, without prices: seeing prices takes the lock.
class ShowPriceList final : public Command {
    [[nodiscard]] Response process(Visit& visit) override {
        const Viewer viewer = visit.viewer();
        const auto holders = visit.desk.locks.holders(key_of<PriceList>(standard_prices)).items;
        return page(viewer, in(viewer.language, "Price list"),
                    html(viewer.language, R"({}{}<section class="card">
<h1>[[Price list]]</h1>
<p>[[Prices must be up to date: while somebody reads them, nobody can change them, and while somebody changes them, nobody can read them. Any number of people can read at the same time.]]</p>
<div class="actions">{}{}</div>
</section>
)",
                         visit.news(), held_notice(viewer, holders),
                         post_button(viewer, "/price-list/read", "Read", "main"),
                         post_button(viewer, "/price-list/edit", "Edit")));
    }
};

class ReadPriceList final : public Command {
    [[nodiscard]] Response process(Visit& visit) override {
        return open<PriceList>(visit, key_of<PriceList>(standard_prices), leasehold::Access::read,
                               "/read", [&](const PriceList& list, const PageLock& lock) {
                                   return show(visit.viewer(), list, lock);
                               });
    }

    static Response show(const Viewer& viewer, const PriceList& list, const PageLock& lock) {
        const Language language = viewer.language;
        Html rows;
        for (const Price& price : list.prices) {
            rows += html("<tr><th scope=\"row\">{}</th><td class=\"number\">{}</td></tr>\n",
                         price.item, price_text(price.cents));
        }
        const Html content =
            html(language, R"(<form class="card" method="post" action="/price-list/leave">
<h1>[[Price list]]</h1>
{}{}
{}<div class="actions"><button class="main" data-always>[[Done reading]]</button>
<button class="quiet" formaction="/price-list/edit">[[Edit]]</button></div>
{}</form>
)",
                 session_fields(viewer), hidden("lock_id", lock.lock_id), table(language, rows),
                 revision_of(viewer, list.revision));
        return page(viewer, in(language, "Price list"),
                    guarded(viewer, lock, content, "You are reading this. Nobody can change it."));
    }
};

}  // namespace

Fields Kind<PriceList>::fields(const PriceList& list) {
    Fields fields;
    fields.add("version", std::to_string(list.revision.version));
    std::size_t position = 0;
    for (const Price& price : list.prices) {
        fields.add(fmt::format("item.{}", ++position), price.item);
        fields.add(fmt::format("price.{}", position), price_text(price.cents));
    }
    return fields;
}

Typed<PriceList> Kind<PriceList>::read(const Fields& form, const std::string& id) {
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
    Fields fields = Kind<PriceList>::fields(list);
    return {std::move(list), std::move(fields)};
}

Response Kind<PriceList>::page(const Viewer& viewer, const Form& form, int status) {
    const Language language = viewer.language;
    Html rows;
    constexpr std::size_t spare_rows = 2;
    std::size_t spare = 0;
    for (std::size_t i = 1; spare < spare_rows; ++i) {
        const std::string item = fmt::format("item.{}", i);
        const std::string price = fmt::format("price.{}", i);
        if (!form.filled.has(item)) ++spare;
        rows += html(
            language,
            R"(<tr><td><input name="{}" aria-label="[[Item]] {}" maxlength="200" value="{}"></td>
<td><input class="number" name="{}" aria-label="[[Price]] {}" inputmode="decimal" value="{}"></td></tr>
)",
            item, i, form.filled.get(item), price, i, form.filled.get(price));
    }
    return form_page(viewer, form, in(language, "Price list"), html(language, "[[Price list]]"),
                     table(language, rows), status);
}

std::span<const Route> price_list_commands() {
    static constexpr std::array routes{
        Route{"GET", "/price-list", make<ShowPriceList>},
        Route{"GET", "/price-list/read", make<ReadPriceList>},
        Route{"POST", "/price-list/read", make<ReadPriceList>},
        Route{"POST", "/price-list/leave", make<Leave<PriceList>>},
        // Converts the lock of a single reader from reading to editing.
        Route{"GET", "/price-list/edit", make<Edit<PriceList>>},
        Route{"POST", "/price-list/edit", make<Edit<PriceList>>},
        Route{"POST", "/price-list/reopen", make<Reopen<PriceList>>},
        Route{"POST", "/price-list/save", make<Save<PriceList>>},
        Route{"POST", "/price-list/cancel", make<Leave<PriceList>>}};
    return routes;
}

}  // namespace customers
