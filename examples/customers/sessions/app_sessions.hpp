#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "sessions/app_session.hpp"

namespace customers {

// Who is signed in. Thread-safe.
class AppSessions {
public:
    using Clock = std::function<leasehold::SteadyClock::time_point()>;
    static constexpr std::size_t most = 10'000;

    // A session nobody uses for `timeout` ends. `locks` outlives this.
    AppSessions(leasehold::LockManager& locks, leasehold::Duration timeout,
                Clock clock = leasehold::SteadyClock::now);

    // Nothing where too many are signed in.
    [[nodiscard]] std::shared_ptr<AppSession> sign_in(const std::string& user);
    // Nothing where there is no such session, or where it has ended.
    [[nodiscard]] std::shared_ptr<AppSession> find(const std::string& token);
    // Keeps the session alive: the person does something.
    void touch(const AppSession& session);
    void sign_out(const AppSession& session);

    // Ends the sessions whose time is up. Happens every second by itself.
    void sweep();

private:
    struct Entry {
        std::shared_ptr<AppSession> session;
        leasehold::SteadyClock::time_point used_at;
    };

    void sweep_until(const std::stop_token& stop);
    void end(std::vector<std::shared_ptr<AppSession>> sessions);

    leasehold::LockManager& locks_;
    const leasehold::Duration timeout_;
    const Clock clock_;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::map<std::string, Entry> entries_;                  // guarded by mutex_; by token
    std::vector<std::shared_ptr<AppSession>> to_be_ended_;  // guarded by mutex_; asked to wait
    std::jthread sweeper_;                                  // last: it uses everything above
};

}  // namespace customers
