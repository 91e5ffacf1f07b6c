#include <fmt/format.h>

#include "web/numbers.hpp"
#include "web/pages/parts.hpp"

namespace customers::web::pages {
namespace {

constexpr std::size_t spare_rows = 2;

Html price_inputs(Language language, const Fields& filled) {
    Html rows;
    std::size_t spare = 0;
    for (std::size_t i = 1; spare < spare_rows; ++i) {
        const std::string item = fmt::format("item.{}", i);
        const std::string price = fmt::format("price.{}", i);
        if (!filled.has(item)) ++spare;
        rows += html(R"(<tr><td><input name="{}" aria-label="{} {}" maxlength="200" value="{}"></td>
<td><input class="number" name="{}" aria-label="{} {}" inputmode="decimal" value="{}"></td></tr>
)",
                     item, in(language, "Item"), i, filled.get(item), price, in(language, "Price"),
                     i, filled.get(price));
    }
    return rows;
}

Html price_list_buttons(const Viewer& viewer, const Form& form) {
    const Language language = viewer.language;
    if (form.lock) {
        return html(R"(<button class="main">{}</button>
<button class="quiet" formaction="/price-list/leave" formnovalidate data-always>{}</button>)",
                    in(language, "Save"), in(language, "Cancel"));
    }
    return html(R"(<button class="main" formaction="/price-list/reopen">{}</button>
<a class="button quiet" href="/price-list">{}</a>)",
                in(language, "Take the lock again and review"), in(language, "Discard my changes"));
}

}  // namespace

Response price_list(const Viewer& viewer, const std::vector<leasehold::Holder>& holders,
                    std::string_view message) {
    const Language language = viewer.language;
    const Html held =
        holders.empty() ? Html{} : html("<p class=\"notice\">{}</p>\n", held_by(viewer, holders));
    return page(viewer, in(language, "Price list"),
                html(R"({}{}<section class="card">
<h1>{}</h1>
<p>{}</p>
<div class="actions">{}{}</div>
</section>
)",
                     notice(viewer, message), held, in(language, "Price list"),
                     in(language,
                        "Prices must be up to date: while somebody reads them, nobody can change "
                        "them, and while somebody changes them, nobody can read them. Any number "
                        "of people can read at the same time."),
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
        html(R"(<form class="card" method="post" action="/price-list/leave">
<h1>{}</h1>
{}{}
<table><thead><tr><th scope="col">{}</th><th scope="col" class="number">{}</th></tr></thead><tbody>
{}</tbody></table>
<div class="actions"><button class="main" data-always>{}</button>
<button class="quiet" formaction="/price-list/edit">{}</button></div>
<p class="small">{}</p>
</form>
)",
             in(language, "Price list"), session_fields(viewer), hidden("lock_id", lock.lock_id),
             in(language, "Item"), in(language, "Price"), rows, in(language, "Done reading"),
             in(language, "Edit"),
             say(language, "Version {}, by {}, {}", list.revision.version, list.revision.changed_by,
                 moment(list.revision.changed_at)));
    PageLock reading = lock;
    reading.held_text = "You are reading this. Nobody can change it.";
    return page(viewer, in(language, "Price list"), guarded(viewer, reading, content));
}

Response price_list_form(const Viewer& viewer, const Form& form, int status) {
    const Language language = viewer.language;
    const Html inputs =
        html(R"(<form class="card" method="post" action="/price-list/save" autocomplete="off">
<h1>{}</h1>
{}{}{}{}
<table><thead><tr><th scope="col">{}</th><th scope="col" class="number">{}</th></tr></thead><tbody>
{}</tbody></table>
<div class="actions">{}</div>
</form>
)",
             in(language, "Price list"), session_fields(viewer),
             hidden("version", form.filled.get("version")), hidden("loaded", form.loaded.print()),
             form.lock ? hidden("lock_id", form.lock->lock_id) : Html{}, in(language, "Item"),
             in(language, "Price"), price_inputs(language, form.filled),
             price_list_buttons(viewer, form));
    Html body = setback(viewer, form);
    body += form.lock ? signed_out(viewer) : Html{};
    body += form.lock ? guarded(viewer, *form.lock, inputs) : inputs;
    return page(viewer, in(language, "Price list"), body, status);
}

}  // namespace customers::web::pages
