#include <fmt/format.h>

#include "web/forms.hpp"
#include "web/pages/parts.hpp"

namespace customers::web::pages {
namespace {

constexpr std::size_t spare_rows = 2;

Html table(Language language, const Html& rows) {
    return html(
        language,
        R"(<table><thead><tr><th scope="col">[[Item]]</th><th scope="col" class="number">[[Price]]</th></tr></thead><tbody>
{}</tbody></table>
)",
        rows);
}

}  // namespace

Response price_list(const Viewer& viewer, const Holders& holders, const Html& news) {
    return page(viewer, in(viewer.language, "Price list"),
                html(viewer.language, R"({}{}<section class="card">
<h1>[[Price list]]</h1>
<p>[[Prices must be up to date: while somebody reads them, nobody can change them, and while somebody changes them, nobody can read them. Any number of people can read at the same time.]]</p>
<div class="actions">{}{}</div>
</section>
)",
                     good_news(news), held_notice(viewer, holders),
                     post_button(viewer, "/price-list/read", "Read", "main"),
                     post_button(viewer, "/price-list/edit", "Edit")));
}

Response price_list_read(const Viewer& viewer, const PriceList& list, const PageLock& lock) {
    const Language language = viewer.language;
    Html rows;
    for (const Price& price : list.prices) {
        rows += html("<tr><th scope=\"row\">{}</th><td class=\"number\">{}</td></tr>\n", price.item,
                     price_text(price.cents));
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

template <>
Response form<PriceList>(const Viewer& viewer, const Form& form, int status) {
    const Language language = viewer.language;
    Html rows;
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

}  // namespace customers::web::pages
