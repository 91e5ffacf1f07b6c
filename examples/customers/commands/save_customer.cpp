#include "commands/answers.hpp"
#include "commands/customer_commands.hpp"
#include "web/customer_form.hpp"

namespace customers {

web::Response SaveCustomer::process(Visit& visit) {
    const std::string& id = visit.request.names.at(0);
    const auto lock_id = BusinessTransaction::continue_with(visit.request.form.get("lock_id"));
    const Customer typed = web::customer_from(visit.request.form, id);
    if (const auto problems = problems_of(typed); !problems.empty()) {
        auto form = answers::unsaved(visit, id, web::fields_of(typed), key_of<Customer>(id));
        form.problems = problems;
        return web::pages::customer_form(visit.viewer(), form, 422);
    }
    const std::string done = "/customers/" + id + "?saved";
    const auto saved = visit.work.customers().save(id, typed, lock_id);
    if (saved) return web::see_other(done);

    const auto now = visit.work.customers().look(id);
    if (!now) return answers::not_found(visit);
    const web::Fields fields = web::fields_of(typed);
    const web::Fields latest = web::fields_of(*now);
    if (answers::is_saved_already(visit, fields, latest, now->revision)) {
        return web::see_other(done);
    }
    auto form = answers::not_saved(visit, id, fields, saved.error(), key_of<Customer>(id));
    answers::tell_changes(form, latest, now->revision);
    return web::pages::customer_form(visit.viewer(), form, 409);
}

web::Response CancelCustomer::process(Visit& visit) {
    const std::string& id = visit.request.names.at(0);
    visit.work.abandon(key_of<Customer>(id),
                       BusinessTransaction::continue_with(visit.request.form.get("lock_id")));
    return web::see_other("/customers/" + id);
}

}  // namespace customers
