#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <array>

#include "commands/record_commands.hpp"
#include "domain/text.hpp"

// Customers: their commands, form and pages.
namespace customers {

using namespace web;

template <>
struct Kind<Customer> {
    static std::string id(const Visit& visit) { return visit.request.names.at(0); }
    static Locking<Customer>& records(Visit& visit) { return visit.work.customers(); }
    static std::string title(const Customer& customer, Language) { return customer.name; }
    static Fields fields(const Customer& customer);
    static Typed<Customer> read(const Fields& form, const std::string& id);
    static Response page(const Viewer& viewer, const Form& form, int status);
};

Fields Kind<Customer>::fields(const Customer& customer) {
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

Typed<Customer> Kind<Customer>::read(const Fields& form, const std::string& id) {
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
    Fields fields = Kind<Customer>::fields(customer);
    return {std::move(customer), std::move(fields), std::move(problems)};
}

namespace {

Html mark_of(const Viewer& viewer, const std::string& id, const Holders& holders) {
    const auto holder = std::ranges::find(
        holders, id, [](const leasehold::Holder& h) { return std::string{h.key.id()}; });
    if (holder == holders.end()) return html(R"(<span class="mark" data-mark="{}"></span>)", id);
    return html(viewer.language,
                R"(<span class="mark held" data-mark="{}">[[{} is editing]]</span>)", id,
                kit::user_of(holder->owner));
}

Html text_input(Language language, std::string_view name, std::string_view word,
                const Fields& filled, std::string_view type = "text") {
    return html(R"(<div class="field"><label for="{}">{}</label>
<input id="{}" name="{}" type="{}" maxlength="200" value="{}"></div>
)",
                name, in(language, word), name, name, type, filled.get(name));
}

// Fields for each address of the customer, and for one more.
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

std::vector<leasehold::Holder> edited_customers(Visit& visit) {
    constexpr std::size_t most = 1'000;
    return visit.desk.locks.list({.type = lock_rule<Customer>.type, .limit = most}).items;
}

class ListCustomers final : public Command {
    [[nodiscard]] Response process(Visit& visit) override {
        const Viewer viewer = visit.viewer();
        const auto holders = edited_customers(visit);
        Html rows;
        for (const CustomerLine& line : visit.work.customer_lines()) {
            rows += html(
                R"(<li class="row"><a href="/customers/{}"><span class="name">{}</span> <span class="city">{}</span></a>{}{}</li>
)",
                line.id, line.name, line.city, mark_of(viewer, line.id, holders),
                post_button(viewer, "/customers/" + line.id + "/edit", "Edit"));
        }
        return page(viewer, in(viewer.language, "Customers"),
                    html(viewer.language, R"(<h1>[[Customers]]</h1>
<ul class="list" data-marks="/customers/marks" data-edits="[[{} is editing]]">
{}</ul>
)",
                         "{}", rows));
    }
};

// Who edits which customer, for the list to show it live.
class ListMarks final : public Command {
    [[nodiscard]] Response process(Visit& visit) override {
        boost::json::object marks;
        for (const leasehold::Holder& holder : edited_customers(visit)) {
            marks[holder.key.id()] = kit::user_of(holder.owner);
        }
        return {.body = boost::json::serialize(marks)};
    }
};

class ViewCustomer final : public Command {
    [[nodiscard]] Response process(Visit& visit) override {
        const Viewer viewer = visit.viewer();
        const auto key = key_of<Customer>(Kind<Customer>::id(visit));
        const auto holders = visit.desk.locks.holders(key).items;
        const auto opened = visit.work.customers().open(key, leasehold::Access::read);
        if (!opened || !opened->record) return visit.not_found();
        const Customer& customer = *opened->record;
        const std::string path = path_of(key);
        Html addresses;
        std::size_t position = 0;
        for (const auto& [label, street, city] : customer.addresses) {
            const std::string edit = fmt::format("{}/addresses/{}/edit", path, ++position);
            addresses += html("<li><h3>{}</h3><p>{}<br>{}</p>{}</li>\n", label, street, city,
                              post_button(viewer, edit, "Edit address", "quiet"));
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
                         visit.news(), held_notice(viewer, holders), customer.name, customer.email,
                         customer.phone, customer.note, addresses,
                         post_button(viewer, path + "/edit", "Edit", "main"),
                         revision_of(viewer, customer.revision)));
    }
};

// By a member of the aggregate: the lock is the customer's.
class EditAddress final : public Command {
    [[nodiscard]] Response process(Visit& visit) override {
        const auto position = integer_from(visit.request.names.at(1));
        if (!position) return visit.not_found();
        return edit<Customer>(
            visit, address_key(Kind<Customer>::id(visit), static_cast<std::size_t>(*position)));
    }
};

}  // namespace

Response Kind<Customer>::page(const Viewer& viewer, const Form& form, int status) {
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

std::span<const Route> customer_commands() {
    static constexpr std::array routes{
        Route{"GET", "/customers", make<ListCustomers>},
        Route{"GET", "/customers/marks", make<ListMarks>, false},
        Route{"GET", "/customers/*", make<ViewCustomer>},
        Route{"GET", "/customers/*/edit", make<Edit<Customer>>},
        Route{"POST", "/customers/*/edit", make<Edit<Customer>>},
        Route{"POST", "/customers/*/addresses/*/edit", make<EditAddress>},
        Route{"POST", "/customers/*/reopen", make<Reopen<Customer>>},
        Route{"POST", "/customers/*/save", make<Save<Customer>>},
        Route{"POST", "/customers/*/cancel", make<Leave<Customer>>}};
    return routes;
}

}  // namespace customers
