#include <fmt/format.h>

#include <algorithm>

#include <leasehold/web/visitor.hpp>

#include "web/pages/parts.hpp"

namespace customers::web::pages {
namespace {

Html mark_of(const Viewer& viewer, const std::string& id,
             const std::vector<leasehold::Holder>& holders) {
    const auto holder = std::ranges::find(
        holders, id, [](const leasehold::Holder& h) { return std::string{h.key.id()}; });
    if (holder == holders.end()) return html(R"(<span class="mark" data-mark="{}"></span>)", id);
    return html(R"(<span class="mark held" data-mark="{}">{}</span>)", id,
                say(viewer.language, "{} is editing", leasehold::web::user_of(holder->owner)));
}

Html address_card(const Viewer& viewer, const Customer& customer, std::size_t position,
                  const Address& address) {
    return html(
        R"(<li><h3>{}</h3><p>{}<br>{}</p>{}</li>
)",
        address.label, address.street, address.city,
        post_button(viewer, fmt::format("/customers/{}/addresses/{}/edit", customer.id, position),
                    "Edit address", "quiet"));
}

Html text_input(Language language, std::string_view name, std::string_view word,
                const std::string& value, std::string_view type = "text") {
    return html(R"(<div class="field"><label for="{}">{}</label>
<input id="{}" name="{}" type="{}" maxlength="200" value="{}"></div>
)",
                name, in(language, word), name, name, type, value);
}

Html address_inputs(Language language, const Fields& filled) {
    Html inputs;
    bool is_last = false;
    for (std::size_t i = 1; i <= Customer::most_addresses && !is_last; ++i) {
        const std::string prefix = fmt::format("address.{}.", i);
        is_last = !filled.has(prefix + "street");
        inputs +=
            html(R"(<fieldset><legend>{}</legend>
{}{}{}</fieldset>
)",
                 is_last ? html("{}", in(language, "Another address"))
                         : html("{} {}", in(language, "Address"), i),
                 text_input(language, prefix + "label", "Label", filled.get(prefix + "label")),
                 text_input(language, prefix + "street", "Street", filled.get(prefix + "street")),
                 text_input(language, prefix + "city", "City", filled.get(prefix + "city")));
    }
    return inputs;
}

Html customer_buttons(const Viewer& viewer, const Form& form) {
    const Language language = viewer.language;
    if (form.lock) {
        return html(R"(<button class="main">{}</button>
<button class="quiet" formaction="/customers/{}/cancel" formnovalidate data-always>{}</button>)",
                    in(language, "Save"), form.id, in(language, "Cancel"));
    }
    return html(R"(<button class="main" formaction="/customers/{}/reopen">{}</button>
<a class="button quiet" href="/customers/{}">{}</a>)",
                form.id, in(language, "Take the lock again and review"), form.id,
                in(language, "Discard my changes"));
}

}  // namespace

Response customer_list(const Viewer& viewer, const std::vector<CustomerLine>& lines,
                       const std::vector<leasehold::Holder>& holders) {
    const Language language = viewer.language;
    Html rows;
    for (const CustomerLine& line : lines) {
        rows += html(
            R"(<li class="row"><a href="/customers/{}"><span class="name">{}</span> <span class="city">{}</span></a>{}{}</li>
)",
            line.id, line.name, line.city, mark_of(viewer, line.id, holders),
            post_button(viewer, "/customers/" + line.id + "/edit", "Edit"));
    }
    return page(viewer, in(language, "Customers"),
                html(R"(<h1>{}</h1>
<ul class="list" data-marks="/customers/marks" data-edits="{}">
{}</ul>
)",
                     in(language, "Customers"), in(language, "{} is editing"), rows));
}

Response customer(const Viewer& viewer, const Customer& customer,
                  const std::vector<leasehold::Holder>& holders, std::string_view message) {
    const Language language = viewer.language;
    Html addresses;
    std::size_t position = 0;
    for (const Address& address : customer.addresses) {
        addresses += address_card(viewer, customer, ++position, address);
    }
    const Html held =
        holders.empty() ? Html{} : html("<p class=\"notice\">{}</p>\n", held_by(viewer, holders));
    return page(viewer, customer.name,
                html(R"({}{}<article class="card">
<h1>{}</h1>
<dl><dt>{}</dt><dd>{}</dd><dt>{}</dt><dd>{}</dd><dt>{}</dt><dd class="lines">{}</dd></dl>
<h2>{}</h2>
<ul class="addresses">{}</ul>
<div class="actions">{}<a class="button quiet" href="/customers">{}</a></div>
<p class="small">{}</p>
</article>
)",
                     notice(viewer, message), held, customer.name, in(language, "E-mail"),
                     customer.email, in(language, "Phone"), customer.phone, in(language, "Note"),
                     customer.note, in(language, "Addresses"), addresses,
                     post_button(viewer, "/customers/" + customer.id + "/edit", "Edit", "main"),
                     in(language, "All customers"),
                     say(language, "Version {}, by {}, {}", customer.revision.version,
                         customer.revision.changed_by, moment(customer.revision.changed_at))));
}

Response customer_form(const Viewer& viewer, const Form& form, int status) {
    const Language language = viewer.language;
    const Html inputs = html(
        R"(<form class="card" method="post" action="/customers/{}/save" autocomplete="off" novalidate>
<h1>{}</h1>
{}{}{}{}
{}{}{}
<div class="field"><label for="note">{}</label><textarea id="note" name="note" rows="4" maxlength="2000">{}</textarea></div>
<h2>{}</h2>
<div class="addresses">{}</div>
<div class="actions">{}</div>
</form>
)",
        form.id, say(language, "Edit {}", form.filled.get("name")), session_fields(viewer),
        hidden("version", form.filled.get("version")), hidden("loaded", form.loaded.print()),
        form.lock ? hidden("lock_id", form.lock->lock_id) : Html{},
        text_input(language, "name", "Name", form.filled.get("name")),
        text_input(language, "email", "E-mail", form.filled.get("email"), "email"),
        text_input(language, "phone", "Phone", form.filled.get("phone"), "tel"),
        in(language, "Note"), form.filled.get("note"), in(language, "Addresses"),
        address_inputs(language, form.filled), customer_buttons(viewer, form));
    Html body = setback(viewer, form);
    body += form.lock ? signed_out(viewer) : Html{};
    body += form.lock ? guarded(viewer, *form.lock, inputs) : inputs;
    return page(viewer, form.filled.get("name"), body, status);
}

}  // namespace customers::web::pages
