#include "commands/command.hpp"

#include <utility>

namespace customers {

web::pages::Viewer viewer_for(const web::Request& request, const kit::SignedIn* session) {
    if (session == nullptr) return {.language = request.language()};
    return {.language = request.language(),
            .user = session->visitor.user(),
            .form_token = session->form_token,
            .session = session->visitor.session()};
}

web::pages::PageLock Visit::page_lock(const leasehold::Lease& lease, std::string address) const {
    return {.key = lease.key,
            .lock_id = lease.lock_id.to_string(),
            .holding_tab = lease.owner.substr(lease.owner.rfind('/') + 1),
            .mode = lease.mode,
            .ttl = desk.ttl,
            .held_text = {},
            .address = std::move(address),
            .database_enforces = desk.database_enforces};
}

}  // namespace customers
