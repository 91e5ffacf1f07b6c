#include "commands/price_list_commands.hpp"

#include "commands/answers.hpp"
#include "mapping/schema.hpp"
#include "web/price_list_form.hpp"

namespace customers {
namespace {

using leasehold::Access;
using leasehold::Mode;

leasehold::LockKey price_list_key() {
    return key_of<PriceList>(standard_prices);
}

web::Response price_list_refused(const Visit& visit, const leasehold::Refusal& refusal, Mode mode,
                                 const std::string& open_path) {
    return answers::refused(visit,
                            {.key = price_list_key(),
                             .mode = mode,
                             .title = std::string{web::in(visit.request.language(), "Price list")},
                             .open_path = open_path,
                             .view_path = "/price-list"},
                            refusal);
}

}  // namespace

web::Response ShowPriceList::process(Visit& visit) {
    return web::pages::price_list(visit.viewer(), visit.desk.locks.holders(price_list_key()).items,
                                  answers::news(visit));
}

web::Response ReadPriceList::process(Visit& visit) {
    if (visit.is_reload() && !visit.work.price_lists().is_open(price_list_key(), Access::read)) {
        return web::see_other("/price-list");
    }
    visit.work.start_new();
    auto opened = visit.work.price_lists().open(price_list_key(), Access::read);
    if (!opened) return price_list_refused(visit, opened.error(), Mode::shared, "/price-list/read");
    if (!opened->record) return answers::not_found(visit);
    return web::pages::price_list_read(visit.viewer(), *opened->record,
                                       visit.page_lock(*opened->lease, "/price-list/read"));
}

web::Response EditPriceList::process(Visit& visit) {
    if (visit.is_reload() && !visit.work.price_lists().is_open(price_list_key(), Access::write)) {
        return web::see_other("/price-list");
    }
    visit.work.start_new();
    auto opened = visit.work.price_lists().open(price_list_key(), Access::write);
    if (!opened)
        return price_list_refused(visit, opened.error(), Mode::exclusive, "/price-list/edit");
    if (!opened->record) return answers::not_found(visit);
    const web::Fields fields = web::fields_of(*opened->record);
    return web::pages::price_list_form(
        visit.viewer(), {.id = standard_prices,
                         .filled = fields,
                         .loaded = fields,
                         .lock = visit.page_lock(*opened->lease, "/price-list/edit")});
}

web::Response ReopenPriceList::process(Visit& visit) {
    visit.work.start_new();
    const web::Fields& typed = visit.request.form;
    auto opened = visit.work.price_lists().open(price_list_key(), Access::write);
    if (!opened) {
        auto form = answers::draft(visit, standard_prices, typed,
                                   "Somebody else has the lock at the moment.");
        form.setback->holders = opened.error().holders;
        return web::pages::price_list_form(visit.viewer(), form, 409);
    }
    if (!opened->record) return answers::not_found(visit);
    auto form = answers::draft(visit, standard_prices, typed, "Review it before you save.");
    form.lock = visit.page_lock(*opened->lease);
    answers::tell_changes(form, web::fields_of(*opened->record), opened->record->revision);
    return web::pages::price_list_form(visit.viewer(), form);
}

web::Response SavePriceList::process(Visit& visit) {
    const web::Fields& typed = visit.request.form;
    const auto lock_id = BusinessTransaction::continue_with(typed.get("lock_id"));
    const auto list = web::price_list_from(typed, standard_prices);
    if (!list) {
        auto form = answers::unsaved(visit, standard_prices, typed, price_list_key());
        form.problems.emplace_back("A price is a number like 4.50.");
        return web::pages::price_list_form(visit.viewer(), form, 422);
    }
    const auto saved = visit.work.price_lists().save(standard_prices, *list, lock_id);
    if (saved) return web::see_other("/price-list?saved");

    const auto now = visit.work.price_lists().look(standard_prices);
    if (!now) return answers::not_found(visit);
    const web::Fields latest = web::fields_of(*now);
    if (answers::is_saved_already(visit, web::fields_of(*list), latest, now->revision)) {
        return web::see_other("/price-list?saved");
    }
    auto form = answers::not_saved(visit, standard_prices, typed, saved.error(), price_list_key());
    answers::tell_changes(form, latest, now->revision);
    return web::pages::price_list_form(visit.viewer(), form, 409);
}

web::Response LeavePriceList::process(Visit& visit) {
    visit.work.abandon(price_list_key(),
                       BusinessTransaction::continue_with(visit.request.form.get("lock_id")));
    return web::see_other("/price-list");
}

}  // namespace customers
