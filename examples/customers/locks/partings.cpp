#include "locks/partings.hpp"

#include <algorithm>

namespace customers {

Partings::Partings(leasehold::LockManager& locks, std::function<void()> ended)
    : locks_{locks},
      ended_{std::move(ended)},
      thread_{[this](const std::stop_token& stop) { work(stop); }} {}

void Partings::end_later(const leasehold::Lease& lease, leasehold::Duration after) {
    {
        const std::scoped_lock lock{mutex_};
        if (due_.size() >= most) return;
        due_.emplace(Clock::now() + std::min(after, longest), lease);
    }
    changed_.notify_one();
}

void Partings::work(const std::stop_token& stop) {
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
        end_unless_renewed(lease);
        lock.lock();
    }
}

void Partings::end_unless_renewed(const leasehold::Lease& lease) try {
    const auto now = locks_.check(lease.key, lease.lock_id);
    if (!now || now->expires_at != lease.expires_at) return;
    locks_.release(lease.key, lease.lock_id);
    ended_();
} catch (const leasehold::StoreFault&) {
    // Its time runs out.
}

}  // namespace customers
