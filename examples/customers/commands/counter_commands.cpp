#include "commands/counter_commands.hpp"

#include <cstdint>
#include <optional>
#include <string>

#include "commands/answers.hpp"
#include "mapping/schema.hpp"
#include "web/numbers.hpp"

namespace customers {
namespace {

leasehold::LockKey counter_key() {
    return key_of<Counter>(invoice_numbers);
}

// A form that was sent twice: the number was given to this person already.
bool is_taken_already(Visit& visit, std::optional<std::int64_t> number) {
    const auto counter = visit.work.counters().look(invoice_numbers);
    return counter && number && counter->next == *number + 1 &&
           counter->revision.changed_by == visit.session.visitor.user();
}

}  // namespace

web::Response ShowCounter::process(Visit& visit) {
    const auto used = web::integer_from(visit.request.query.get("used"));
    return web::pages::counter(visit.viewer(), visit.desk.locks.holders(counter_key()).items,
                               {.text = answers::news(visit), .used = used});
}

web::Response OpenCounter::process(Visit& visit) {
    if (visit.is_reload() &&
        !visit.work.counters().is_open(counter_key(), leasehold::Access::read)) {
        return web::see_other("/counter");
    }
    visit.work.start_new();
    auto opened = visit.work.counters().open(counter_key(), leasehold::Access::read);
    if (!opened) {
        return answers::refused(
            visit,
            {.key = counter_key(),
             .title = std::string{web::in(visit.request.language(), "Invoice numbers")},
             .open_path = "/counter/open",
             .view_path = "/counter"},
            opened.error());
    }
    if (!opened->record) return answers::not_found(visit);
    return web::pages::counter_open(visit.viewer(), *opened->record,
                                    visit.page_lock(*opened->lease, "/counter/open"));
}

web::Response TakeNumber::process(Visit& visit) {
    const auto lock_id = BusinessTransaction::continue_with(visit.request.form.get("lock_id"));
    const auto counter = visit.work.counters().resume(invoice_numbers, lock_id);
    if (counter && *counter) {
        const std::int64_t number = (*counter)->take();
        if (visit.work.counters().save(invoice_numbers, **counter, lock_id)) {
            return web::see_other("/counter?used=" + std::to_string(number));
        }
    }
    const auto number = web::integer_from(visit.request.form.get("number"));
    if (is_taken_already(visit, number)) {
        return web::see_other("/counter?used=" + std::to_string(*number));
    }
    return web::pages::counter(visit.viewer(), visit.desk.locks.holders(counter_key()).items,
                               {.problem = "Not used: your lock on the counter had expired."}, 409);
}

web::Response PutNumberBack::process(Visit& visit) {
    visit.work.abandon(counter_key(),
                       BusinessTransaction::continue_with(visit.request.form.get("lock_id")));
    return web::see_other("/counter");
}

}  // namespace customers
