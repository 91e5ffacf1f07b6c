#include <fmt/format.h>

#include <algorithm>

#include <leasehold/web/visitor.hpp>

#include "web/pages/parts.hpp"

namespace customers::web::pages {
namespace {

Html mark_of(const Viewer& viewer, const std::string& id, const Holders& holders) {
    const auto holder = std::ranges::find(
        holders, id, [](const leasehold::Holder& h) { return std::string{h.key.id()}; });
    if (holder == holders.end()) return html(R"(<span class="mark" data-mark="{}"></span>)", id);
    return html(viewer.language,
                R"(<span class="mark held" data-mark="{}">[[{} is editing]]</span>)", id,
                leasehold::web::user_of(holder->owner));
}

Html text_input(Language language, std::string_view name, std::string_view word,
                const Fields& filled, std::string_view type = "text") {
    return html(R"(<div class="field"><label for="{}">{}</label>
<input id="{}" name="{}" type="{}" maxlength="200" value="{}"></div>
)",
                name, in(language, word), name, name, type, filled.get(name));
}

// Those that there are, and an empty one.
Html address_inputs(Language language, const Fields& filled) {
    Html inputs;
    bool is_last = false;
    for (std::size_t i = 1; i <= Customer::most_addresses && !is_last; ++i) {
        const std::string prefix = fmt::format("address.{}.", i);
        is_last = !filled.has(prefix + "street");
        inputs += html(
            "<fieldset><legend>{}</legend>\n{}{}{}</fieldset>\n",
            is_last ? html(language, "[[Another address]]") : html(language, "[[Address]] {}", i),
            text_input(language, prefix + "label", "Label", filled),
            text_input(language, prefix + "street", "Street", filled),
            text_input(language, prefix + "city", "City", filled));
    }
    return inputs;
}

}  // namespace

Response customer_list(const Viewer& viewer, const std::vector<CustomerLine>& lines,
                       const Holders& holders) {
    Html rows;
    for (const CustomerLine& line : lines) {
        rows += html(
            R"(<li class="row"><a href="/customers/{}"><span class="name">{}</span> <span class="city">{}</span></a>{}{}</li>
)",
            line.id, line.name, line.city, mark_of(viewer, line.id, holders),
            post_button(viewer, "/customers/" + line.id + "/edit", "Edit"));
    }
    return page(viewer, in(viewer.language, "Customers"),
                html(viewer.language, R"(<h1>[[Customers]]</h1>
<ul class="list" data-marks="/customers/marks" data-edits="{}">
{}</ul>
)",
                     in(viewer.language, "{} is editing"), rows));
}

Response customer(const Viewer& viewer, const Customer& customer, const Holders& holders,
                  const Html& news) {
    const std::string path = "/customers/" + customer.id;
    Html addresses;
    std::size_t position = 0;
    for (const Address& address : customer.addresses) {
        addresses += html("<li><h3>{}</h3><p>{}<br>{}</p>{}</li>\n", address.label, address.street,
                          address.city,
                          post_button(viewer, fmt::format("{}/addresses/{}/edit", path, ++position),
                                      "Edit address", "quiet"));
    }
    return page(viewer, customer.name,
                html(viewer.language, R"({}{}<article class="card">
<h1>{}</h1>
<dl><dt>[[E-mail]]</dt><dd>{}</dd><dt>[[Phone]]</dt><dd>{}</dd><dt>[[Note]]</dt><dd class="lines">{}</dd></dl>
<h2>[[Addresses]]</h2>
<ul class="addresses">{}</ul>
<div class="actions">{}<a class="button quiet" href="/customers">[[All customers]]</a></div>
{}</article>
)",
                     good_news(news), held_notice(viewer, holders), customer.name, customer.email,
                     customer.phone, customer.note, addresses,
                     post_button(viewer, path + "/edit", "Edit", "main"),
                     revision_of(viewer, customer.revision)));
}

template <>
Response form<Customer>(const Viewer& viewer, const Form& form, int status) {
    const Language language = viewer.language;
    const std::string name = form.filled.get("name");
    const Html inputs = html(language, R"({}{}{}
<div class="field"><label for="note">[[Note]]</label><textarea id="note" name="note" rows="4" maxlength="2000">{}</textarea></div>
<h2>[[Addresses]]</h2>
<div class="addresses">{}</div>
)",
                             text_input(language, "name", "Name", form.filled),
                             text_input(language, "email", "E-mail", form.filled, "email"),
                             text_input(language, "phone", "Phone", form.filled, "tel"),
                             form.filled.get("note"), address_inputs(language, form.filled));
    return form_page(viewer, form, name, html(language, "[[Edit {}]]", name), inputs, status);
}

}  // namespace customers::web::pages
