#include "server/waiting/delayed_releases.hpp"

#include <boost/asio/dispatch.hpp>

#include <chrono>
#include <new>

#include "core/out_of_memory.hpp"
#include "core/retry.hpp"

namespace leasehold::server {

DelayedReleases::DelayedReleases(StoreQueue& store, asio::io_context& home,
                                 const ServerOptions& options)
    : store_{store}, home_{home}, options_{options}, timer_{home.get_executor()} {}

DelayedReleases::~DelayedReleases() = default;

std::optional<DelayedReleases::Number> DelayedReleases::announce(const LockKey& key, LockId lock_id,
                                                                 std::shared_ptr<void> place) {
    const std::lock_guard lock{mutex_};
    if (closed_) return std::nullopt;
    if (const auto found = by_id_.find(lock_id); found != by_id_.end()) {
        Scheduled& scheduled = found->second->second;
        ++scheduled.unconfirmed;
        // The answer to what was sent before says nothing about this announcement.
        scheduled.under_way = false;
        return scheduled.number;
    }
    if (due_.size() >= options_.delayed_releases) return std::nullopt;
    by_id_[lock_id] =
        due_.emplace(Clock::now() + options_.longest_delay,
                     Scheduled{{key, lock_id, Time{}}, std::move(place), ++numbers_, 1});
    scheduled_ = due_.size();
    return numbers_;
}

void DelayedReleases::withdraw(LockId lock_id, Number number) {
    const std::lock_guard lock{mutex_};
    const auto found = by_id_.find(lock_id);
    if (found == by_id_.end()) return;
    Scheduled& scheduled = found->second->second;
    if (scheduled.number != number) return;
    --scheduled.unconfirmed;
    if (scheduled.unconfirmed == 0 && !scheduled.confirmed) forget(found);
}

bool DelayedReleases::end_later(const Lease& lease, std::chrono::milliseconds after,
                                const std::string& by, std::shared_ptr<void> owners_place) {
    {
        const std::lock_guard lock{mutex_};
        if (closed_) return false;
        const auto announced = by_id_.find(lease.lock_id);
        if (announced == by_id_.end()) return true;
        auto node = due_.extract(announced->second);
        node.key() = Clock::now() + after;
        Scheduled& scheduled = node.mapped();
        scheduled.release = {lease.key, lease.lock_id, lease.expires_at, by};
        scheduled.confirmed = true;
        scheduled.under_way = false;
        scheduled.owners_place = std::move(owners_place);
        if (scheduled.unconfirmed > 0) --scheduled.unconfirmed;
        announced->second = due_.insert(std::move(node));
    }
    do_for_certain([this] { asio::dispatch(home_, [this] { set_timer(); }); });
    return true;
}

void DelayedReleases::sending(const Request& request) {
    if (scheduled_ == 0 || !prolongs(kind_of(request))) return;
    if (const LockId* const id = lock_id_of(request)) came_back(*id);
}

void DelayedReleases::answered(const Answered& answered) {
    if (scheduled_ == 0 || !takes(answered.kind)) return;
    if (const auto* lease = std::get_if<Lease>(&answered.outcome)) came_back(lease->lock_id);
    if (const auto* leases = std::get_if<std::vector<Lease>>(&answered.outcome)) {
        for (const Lease& lease : *leases) came_back(lease.lock_id);
    }
}

void DelayedReleases::close() {
    const std::lock_guard lock{mutex_};
    closed_ = true;
    scheduled_ = 0;
    by_id_.clear();
    due_.clear();
    asio::dispatch(home_, [this] { timer_.cancel(); });
}

void DelayedReleases::cancel(LockId lock_id) {
    const std::lock_guard lock{mutex_};
    if (const auto found = by_id_.find(lock_id); found != by_id_.end()) forget(found);
}

void DelayedReleases::forget(ById::iterator announced) {
    due_.erase(announced->second);
    by_id_.erase(announced);
    scheduled_ = due_.size();
}

void DelayedReleases::set_timer() {
    const std::lock_guard lock{mutex_};
    if (due_.empty()) return;
    do_for_certain([this] {
        timer_.expires_at(due_.begin()->first);
        timer_.async_wait([this](boost::system::error_code error) {
            if (!error) on_time();
        });
    });
}

void DelayedReleases::on_time() {
    const auto now = Clock::now();
    {
        // The lock is held until the releases are with the store, so that a holder that comes back
        // now is behind them.
        const std::lock_guard lock{mutex_};
        while (!due_.empty() && due_.begin()->first <= now) {
            Scheduled& scheduled = due_.begin()->second;
            if (scheduled.confirmed && !scheduled.under_way) send(scheduled);
            put_off(due_.begin(), now + retries::delayed_release);
        }
    }
    set_timer();
}

void DelayedReleases::send(Scheduled& scheduled) try {
    const Release& release = scheduled.release;
    store_.submit(home_, release, Recipient::nobody,
                  [this, id = release.lock_id, number = scheduled.number](const Outcome& outcome) {
                      released(id, number, outcome);
                  });
    scheduled.under_way = true;
} catch (const std::bad_alloc&) {
    // It is sent when it is due again.
}

void DelayedReleases::put_off(Due::iterator due, Clock::time_point until) {
    auto node = due_.extract(due);
    node.key() = until;
    const auto announced = by_id_.find(node.mapped().release.lock_id);
    announced->second = due_.insert(std::move(node));
}

void DelayedReleases::released(LockId lock_id, Number number, const Outcome& outcome) {
    const std::lock_guard lock{mutex_};
    const auto found = by_id_.find(lock_id);
    if (found == by_id_.end()) return;
    Scheduled& scheduled = found->second->second;
    if (scheduled.number != number || !scheduled.under_way) return;
    scheduled.under_way = false;
    if (!std::holds_alternative<StoreFault>(outcome)) forget(found);
}

}  // namespace leasehold::server
