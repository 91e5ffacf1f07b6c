#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <leasehold/web/sessions.hpp>

#include "commands/business_transaction.hpp"
#include "web/http.hpp"
#include "web/pages.hpp"

namespace customers {

// `session` is null for a person who is not signed in.
[[nodiscard]] web::Viewer viewer_for(const web::Request& request, const kit::SignedIn* session);

// What a command works with. The request is one of a signed-in person and its form is genuine.
struct Visit {
    const web::Request& request;
    const kit::SignedIn& session;
    kit::Sessions& sessions;
    LockDesk& desk;
    BusinessTransaction& work;

    [[nodiscard]] web::Viewer viewer() const { return viewer_for(request, &session); }
    // A reloaded page continues with the lock of its tab and takes no new one.
    [[nodiscard]] bool is_reload() const { return request.plain.method != "POST"; }
    // The lock id that the form carries.
    [[nodiscard]] leasehold::LockId lock_id() const {
        return BusinessTransaction::continue_with(request.form.get("lock_id"));
    }
    // For a page that is served with this lease, and with where it can be loaded again.
    [[nodiscard]] web::PageLock page_lock(const leasehold::Lease& lease,
                                          std::string address = {}) const;
    // What a redirect to this page had to tell, in a word of its query.
    [[nodiscard]] web::Html news() const;
    [[nodiscard]] web::Response not_found() const;
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

// Puts a system transaction around a command: what it did is committed if it answers with success,
// and undone, locks it took included, if it answers with a refusal or throws.
class TransactionalCommand final : public Command {
public:
    explicit TransactionalCommand(std::unique_ptr<Command> command)
        : command_{std::move(command)} {}

    [[nodiscard]] web::Response process(Visit& visit) override;

private:
    std::unique_ptr<Command> command_;
};

// The requests that a command answers.
struct Route {
    std::string_view method;
    std::string_view pattern;  // a * is one name
    std::unique_ptr<Command> (*make)();
    bool is_activity = true;  // a person did it, not the page by itself
};
template <class C>
[[nodiscard]] std::unique_ptr<Command> make() {
    return std::make_unique<C>();
}

// All commands.
[[nodiscard]] std::span<const Route> customer_commands();
[[nodiscard]] std::span<const Route> price_list_commands();
[[nodiscard]] std::span<const Route> counter_commands();
[[nodiscard]] std::span<const Route> session_commands();

}  // namespace customers
