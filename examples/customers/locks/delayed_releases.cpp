#include "locks/delayed_releases.hpp"

#include <algorithm>

namespace customers {

DelayedReleases::DelayedReleases(leasehold::LockManager& locks, std::function<void()> released)
    : locks_{locks},
      released_{std::move(released)},
      thread_{[this](const std::stop_token& stop) { work(stop); }} {}

void DelayedReleases::release_later(const leasehold::Lease& lease, leasehold::Duration after) {
    {
        const std::scoped_lock lock{mutex_};
        if (due_.size() >= most) return;
        due_.emplace(Clock::now() + std::min(after, longest), lease);
    }
    changed_.notify_one();
}

void DelayedReleases::work(const std::stop_token& stop) {
    std::unique_lock lock{mutex_};
    while (!stop.stop_requested()) {
        if (due_.empty()) {
            changed_.wait(lock, stop, [&] { return !due_.empty(); });
            continue;
        }
        const auto first = due_.begin();
        if (const auto left = first->first - Clock::now(); left > leasehold::Duration::zero()) {
            changed_.wait_for(lock, stop, left, [] { return false; });
            continue;
        }
        const leasehold::Lease lease = std::move(first->second);
        due_.erase(first);
        lock.unlock();
        release_unless_renewed(lease);
        lock.lock();
    }
}

void DelayedReleases::release_unless_renewed(const leasehold::Lease& lease) try {
    const auto now = locks_.check(lease.key, lease.lock_id);
    if (!now || now->expires_at != lease.expires_at) return;
    locks_.release(lease.key, lease.lock_id);
    released_();
} catch (const leasehold::StoreFault&) {
    // The lease expires.
}

}  // namespace customers
