#pragma once

#include <leasehold/web/sessions.hpp>

#include "commands/business_transaction.hpp"
#include "web/http.hpp"
#include "web/pages/pages.hpp"

namespace customers {

// `session` is null for a person who is not signed in.
[[nodiscard]] web::pages::Viewer viewer_for(const web::Request& request,
                                            const kit::SignedIn* session);

// What a command works with. The request is one of a signed-in person and its form is genuine.
struct Visit {
    const web::Request& request;
    const kit::SignedIn& session;
    kit::Sessions& sessions;
    LockDesk& desk;
    BusinessTransaction& work;

    [[nodiscard]] web::pages::Viewer viewer() const { return viewer_for(request, &session); }
    // A reloaded page continues with the lock of its tab and takes no new one.
    [[nodiscard]] bool is_reload() const { return request.method != "POST"; }
    // For a page that is served with this lease, and with where it can be loaded again.
    [[nodiscard]] web::pages::PageLock page_lock(const leasehold::Lease& lease,
                                                 std::string address = {}) const;
};

// One thing that can be asked of the application. Made anew for every request.
class Command {
public:
    Command() = default;
    Command(const Command&) = delete;
    Command& operator=(const Command&) = delete;
    virtual ~Command() = default;

    [[nodiscard]] virtual web::Response process(Visit& visit) = 0;
};

}  // namespace customers
