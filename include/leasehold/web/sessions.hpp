#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <leasehold/lock_manager.hpp>
#include <leasehold/session.hpp>
#include <leasehold/web/http.hpp>
#include <leasehold/web/visitor.hpp>

namespace leasehold::web {

// One signed-in person in one browser.
struct SignedIn {
    const Visitor visitor;
    const std::string token;       // for the cookie: a credential, shown to nobody
    const std::string form_token;  // for every form of this session: proof that the form is ours
};

struct SessionsOptions {
    // A session that nobody uses for this time ends.
    Duration timeout = std::chrono::minutes{30};
    // Those included that have ended and whose locks the store has not released yet.
    std::size_t most = 10'000;
    // Of one user. The next one ends the user's session that has not been used for longest.
    std::size_t most_per_user = 20;
    std::function<SteadyClock::time_point()> clock = SteadyClock::now;
};

// Who is signed in, for applications without sessions of their own. The end of a session, by
// sign_out() or by its timeout, releases all of its locks. Thread-safe.
//
// The destructor keeps the locks: an application that is stopped and started again must not release
// the locks of people who go on typing. Sessions are in memory; call end_all() if your users have
// to sign in again after a restart.
class Sessions {
public:
    // `locks` outlives this.
    explicit Sessions(LockManager& locks, SessionsOptions options = {});
    Sessions(const Sessions&) = delete;
    Sessions& operator=(const Sessions&) = delete;
    ~Sessions();

    // Null if too many are signed in, or too many sessions of this user have ended without the
    // store having released their locks. Throws BadRequest if the name cannot be a part of an
    // owner.
    [[nodiscard]] std::shared_ptr<const SignedIn> sign_in(std::string user);
    // Null if there is no such session or it has ended.
    [[nodiscard]] std::shared_ptr<const SignedIn> find(std::string_view token);
    // The visitor with the cookie `session`; nothing if nobody is signed in. A request that is a
    // sign of a person at work keeps the session alive: the renewal of a lock (PATCH), and outside
    // of LockRoutes every request but GET and HEAD.
    [[nodiscard]] std::optional<Visitor> visitor(const Request& request);
    // Keeps the session alive: the person does something.
    void touch(const SignedIn& session);
    void sign_out(const SignedIn& session);
    void end_all();

    // Ends the sessions whose time is up. Happens every second by itself.
    void sweep();

private:
    class State;
    std::unique_ptr<State> state_;
};

// That number of random bytes from the operating system, as hexadecimal digits.
[[nodiscard]] std::string random_token(std::size_t bytes);
// Takes the same time wherever the two differ.
[[nodiscard]] bool is_same_secret(std::string_view a, std::string_view b);

}  // namespace leasehold::web
