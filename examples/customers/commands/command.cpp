#include "commands/command.hpp"

namespace customers {

web::Viewer viewer_for(const web::Request& request, const kit::SignedIn* session) {
    if (session == nullptr) return {.language = request.language()};
    return {.language = request.language(),
            .user = session->visitor.user(),
            .form_token = session->form_token,
            .session = session->visitor.session()};
}

web::PageLock Visit::page_lock(const leasehold::Lease& lease, std::string address) const {
    return {.key = lease.key,
            .lock_id = lease.lock_id.to_string(),
            .holding_tab = lease.owner.substr(lease.owner.rfind('/') + 1),
            .mode = lease.mode,
            .ttl = desk.ttl,
            .address = std::move(address),
            .database_enforces = desk.database_enforces};
}

web::Html Visit::news() const {
    const web::Language language = request.language();
    if (request.query.has("saved")) return web::good_news(web::html(language, "[[Saved.]]"));
    if (request.query.has("knocked"))
        return web::good_news(web::html(language, "[[Your request was sent.]]"));
    return {};
}

web::Response Visit::not_found() const {
    return web::problem_page(viewer(), 404, "Not found", "There is nothing here.");
}

web::Response TransactionalCommand::process(Visit& visit) {
    try {
        web::Response response = command_->process(visit);
        if (response.status < 400) {
            visit.work.commit();
        } else {
            visit.work.roll_back();
        }
        return response;
    } catch (...) {
        visit.work.roll_back();
        throw;
    }
}

}  // namespace customers
