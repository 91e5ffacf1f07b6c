#include "commands/answers.hpp"
#include "commands/customer_commands.hpp"
#include "web/customer_form.hpp"
#include "web/numbers.hpp"

namespace customers {
namespace {

using leasehold::Access;

web::Response customer_refused(Visit& visit, const leasehold::Refusal& refusal,
                               const std::string& id) {
    const auto customer = visit.work.customers().look(id);
    if (!customer) return answers::not_found(visit);
    return answers::refused(visit,
                            {.key = key_of<Customer>(id),
                             .title = customer->name,
                             .open_path = "/customers/" + id + "/edit",
                             .view_path = "/customers/" + id},
                            refusal);
}

web::Response edit(Visit& visit, const leasehold::LockKey& member) {
    const std::string& id = visit.request.names.at(0);
    const std::string path = "/customers/" + id;
    if (visit.is_reload() && !visit.work.customers().is_open(member, Access::write)) {
        return web::see_other(path);
    }
    visit.work.start_new();
    auto opened = visit.work.customers().open(member, Access::write);
    if (!opened) return customer_refused(visit, opened.error(), id);
    if (!opened->record) return answers::not_found(visit);
    const web::Fields fields = web::fields_of(*opened->record);
    return web::pages::customer_form(visit.viewer(),
                                     {.id = id,
                                      .filled = fields,
                                      .loaded = fields,
                                      .lock = visit.page_lock(*opened->lease, path + "/edit")});
}

}  // namespace

web::Response EditCustomer::process(Visit& visit) {
    return edit(visit, key_of<Customer>(visit.request.names.at(0)));
}

web::Response EditAddress::process(Visit& visit) {
    const auto position = web::integer_from(visit.request.names.at(1));
    if (!position) return answers::not_found(visit);
    return edit(visit, address_key(visit.request.names.at(0), static_cast<std::size_t>(*position)));
}

web::Response ReopenCustomer::process(Visit& visit) {
    const std::string& id = visit.request.names.at(0);
    visit.work.start_new();
    auto opened = visit.work.customers().open(key_of<Customer>(id), Access::write);
    const Customer typed = web::customer_from(visit.request.form, id);
    if (!opened) {
        auto form = answers::draft(visit, id, web::fields_of(typed),
                                   "Somebody else has the lock at the moment.");
        form.setback->holders = opened.error().holders;
        return web::pages::customer_form(visit.viewer(), form, 409);
    }
    if (!opened->record) return answers::not_found(visit);
    auto form = answers::draft(visit, id, web::fields_of(typed), "Review it before you save.");
    form.lock = visit.page_lock(*opened->lease);
    answers::tell_changes(form, web::fields_of(*opened->record), opened->record->revision);
    return web::pages::customer_form(visit.viewer(), form);
}

}  // namespace customers
