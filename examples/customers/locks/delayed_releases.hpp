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

// Releases the lock of a page that was closed. A page that is only reloaded renews its lease before
// the delay is over, and keeps it. Thread-safe. Delays do not survive this process: a lease that it
// does not release expires.
class DelayedReleases {
public:
    static constexpr std::size_t most = 10'000;
    static constexpr leasehold::Duration longest = std::chrono::minutes{1};

    // `released` is called after each release. `locks` outlives this.
    DelayedReleases(leasehold::LockManager& locks, std::function<void()> released);

    // Releases the lease after that time, unless it was renewed by then.
    void release_later(const leasehold::Lease& lease, leasehold::Duration after);

private:
    using Clock = leasehold::SteadyClock;

    void work(const std::stop_token& stop);
    void release_unless_renewed(const leasehold::Lease& lease);

    leasehold::LockManager& locks_;
    const std::function<void()> released_;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::multimap<Clock::time_point, leasehold::Lease> due_;  // guarded by mutex_
    std::jthread thread_;                                     // last: it uses everything above
};

}  // namespace customers
