#include "core/delayed_releases.hpp"

#include <leasehold/limits.hpp>

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

namespace leasehold {
namespace {

// The condition variable's clock stands still while the machine is suspended, so the releases are
// looked at this often.
constexpr std::chrono::seconds between_looks{10};

}  // namespace

void DelayedReleases::schedule(const Lease& lease, Duration delay) {
    Release release{
        .key = lease.key, .lock_id = lease.lock_id, .if_expires_at = lease.expires_at, .by = {}};
    {
        const std::lock_guard lock{mutex_};
        if (closed_) return;
        const auto when = SteadyClock::now() + delay;
        if (const auto found = by_id_.find(lease.lock_id); found != by_id_.end()) {
            due_.erase(found->second);
            by_id_.erase(found);
        }
        if (due_.size() < Limits::delayed_releases) {
            by_id_[lease.lock_id] = due_.emplace(when, std::move(release));
            scheduled_ = due_.size();
            if (!thread_.joinable()) thread_ = std::thread{[this] { run(); }};
            changed_.notify_all();
            return;
        }
        scheduled_ = due_.size();
    }
    release_(std::move(release));
}

void DelayedReleases::sign_of(const Request& request) {
    if (scheduled_ == 0) return;
    if (const auto* check = std::get_if<Check>(&request)) cancel(check->lock_id);
    if (const auto* renewal = std::get_if<Renew>(&request)) cancel(renewal->lock_id);
    if (const auto* extension = std::get_if<Extend>(&request)) cancel(extension->lock_id);
}

void DelayedReleases::sign_of(const Outcome& granted) {
    if (scheduled_ == 0) return;
    if (const auto* lease = std::get_if<Lease>(&granted)) cancel(lease->lock_id);
    if (const auto* leases = std::get_if<std::vector<Lease>>(&granted)) {
        for (const Lease& lease : *leases) cancel(lease.lock_id);
    }
}

void DelayedReleases::close() {
    std::thread thread;
    {
        const std::lock_guard lock{mutex_};
        closed_ = true;
        by_id_.clear();
        due_.clear();
        scheduled_ = 0;
        thread.swap(thread_);
        changed_.notify_all();
    }
    if (thread.joinable()) thread.join();
}

void DelayedReleases::cancel(LockId lock_id) {
    const std::lock_guard lock{mutex_};
    const auto found = by_id_.find(lock_id);
    if (found == by_id_.end()) return;
    due_.erase(found->second);
    by_id_.erase(found);
    scheduled_ = due_.size();
}

void DelayedReleases::run() {
    std::unique_lock lock{mutex_};
    while (!closed_) {
        if (due_.empty()) {
            changed_.wait(lock);
            continue;
        }
        if (const auto left = due_.begin()->first - SteadyClock::now(); left > Duration::zero()) {
            changed_.wait_for(lock, std::min<Duration>(left, between_looks));
            continue;
        }
        Release release = std::move(due_.begin()->second);
        by_id_.erase(release.lock_id);
        due_.erase(due_.begin());
        scheduled_ = due_.size();
        lock.unlock();
        release_(std::move(release));
        lock.lock();
    }
}

}  // namespace leasehold
