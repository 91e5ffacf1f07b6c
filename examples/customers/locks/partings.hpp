#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <stop_token>
#include <thread>

#include <leasehold/lock_manager.hpp>

namespace customers {

// Ends leases whose pages have gone a while ago and did not come back: closed, or reloaded.
// Thread-safe; a comfort of this process alone, the expiry stays the truth.
class Partings {
public:
    static constexpr std::size_t most = 10'000;
    static constexpr leasehold::Duration longest = std::chrono::minutes{1};

    // `ended` is called after a lease was ended. `locks` outlives this.
    Partings(leasehold::LockManager& locks, std::function<void()> ended);

    // Ends the lease then, unless it was renewed by then.
    void end_later(const leasehold::Lease& lease, leasehold::Duration after);

private:
    using Clock = leasehold::SteadyClock;

    void work(const std::stop_token& stop);
    void end_unless_renewed(const leasehold::Lease& lease);

    leasehold::LockManager& locks_;
    const std::function<void()> ended_;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::multimap<Clock::time_point, leasehold::Lease> due_;  // guarded by mutex_
    std::jthread thread_;                                     // last: it uses everything above
};

}  // namespace customers
