#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>

#include <leasehold/lease.hpp>
#include <leasehold/request.hpp>

namespace leasehold {

// Releases leases after a while, unless their holders show that they are still there. Thread-safe.
//
// 1. schedule(): the release is planned.
// 2. A check, a renewal, an extension or a repeated try through this lock manager is a sign of the
//    holder and cancels it.
// 3. When the time has come, the release goes to the store, on the condition that the lease has the
//    expiry it had at step 1. So a holder that renewed through another process keeps its lease too.
class DelayedReleases {
public:
    // `release` sends a release to the store; it must not block. It is called on a thread of this.
    explicit DelayedReleases(std::function<void(Release)> release) : release_{std::move(release)} {}
    DelayedReleases(const DelayedReleases&) = delete;
    DelayedReleases& operator=(const DelayedReleases&) = delete;
    ~DelayedReleases() { close(); }

    // A lease that is scheduled already gets the new time. If Limits::delayed_releases are
    // scheduled, the lease is released at once.
    void schedule(const Lease& lease, Duration delay);

    [[nodiscard]] bool is_anything_scheduled() const noexcept { return scheduled_ > 0; }

    // Step 2.
    void sign_of(const Request& request);
    void sign_of(const Outcome& granted);

    // Cancels all releases; their leases end at their expiry.
    void close();

private:
    using Due = std::multimap<SteadyClock::time_point, Release>;

    void cancel(LockId lock_id);
    void run();

    const std::function<void(Release)> release_;
    std::atomic<std::size_t> scheduled_{0};  // the size of due_
    std::mutex mutex_;
    std::condition_variable changed_;
    // All guarded by mutex_:
    bool closed_ = false;
    Due due_;
    std::unordered_map<LockId, Due::iterator> by_id_;
    std::thread thread_;  // starts with the first release
};

}  // namespace leasehold
