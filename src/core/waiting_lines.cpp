#include "core/waiting_lines.hpp"

#include <algorithm>
#include <functional>
#include <future>
#include <new>
#include <span>
#include <string>
#include <system_error>

#include "core/fresh_lock_id.hpp"
#include "core/out_of_memory.hpp"
#include "core/request_traits.hpp"
#include "core/retry.hpp"

namespace leasehold {
namespace {

using namespace std::chrono_literals;

constexpr Duration after_the_expiry = 1ms;
// A wait does not count the time while the machine is suspended, but SteadyClock does: so look at
// the clock often.
constexpr Duration longest_sleep = 1s;

StoreFault nothing_granted(const std::string& why) {
    return {StoreFault::Effect::none, StoreFault::Cause::unavailable, why};
}

Outcome stopped() {
    return nothing_granted("the wait for the lock was stopped; nothing was granted");
}

Outcome closing() {
    return nothing_granted("the lock manager is being destroyed; nothing was granted");
}

// Calls the function with the TryLock or the TryLockAll.
template <class Wanted, class Function>
auto with_try(Wanted& wanted, Function function) {
    if (auto* one = std::get_if<TryLock>(&wanted)) return function(*one);
    return function(std::get<TryLockAll>(wanted));
}

std::span<const LockKey> keys_in(const Request& wanted) {
    return with_try(wanted, [](const auto& r) { return tried_keys(r); });
}

bool names(const Refusal& refusal, const std::string& owner) {
    return !owner.empty() &&
           std::ranges::find(refusal.holders, owner, &Holder::owner) != refusal.holders.end();
}

bool is_grant(const Outcome& outcome) {
    return std::holds_alternative<Lease>(outcome) ||
           std::holds_alternative<std::vector<Lease>>(outcome);
}

bool is_gone(const Outcome& outcome) {
    const auto* refusal = std::get_if<Refusal>(&outcome);
    return refusal != nullptr && refusal->kind == Refusal::Kind::gone;
}

bool is_unknown(const Outcome& outcome) {
    const auto* fault = std::get_if<StoreFault>(&outcome);
    return fault != nullptr && fault->effect() == StoreFault::Effect::unknown;
}

// Whether asking again can be answered otherwise.
bool may_change(const Outcome& outcome) {
    if (const auto* refusal = std::get_if<Refusal>(&outcome)) {
        return refusal->kind != Refusal::Kind::gone;
    }
    const auto* fault = std::get_if<StoreFault>(&outcome);
    return fault != nullptr && may_pass(*fault);
}

void redraw(TryLock& wanted) {
    wanted.lock_id = FreshLockId::draw();
}
void redraw(TryLockAll& wanted) {
    std::ranges::generate(wanted.lock_ids, FreshLockId::draw);
}

void mark_as_sent(TryLock& wanted) {
    FreshLockId::mark_as_sent(wanted.lock_id);
}
void mark_as_sent(TryLockAll& wanted) {
    std::ranges::for_each(wanted.lock_ids, FreshLockId::mark_as_sent);
}

// Whether a refusal as gone can be the end of an earlier grant whose answer was lost or too late.
// Without it, gone means that somebody was granted the key after `since`.
bool gone_may_be_our_own(const TryLock& wanted) {
    return !wanted.since;
}
bool gone_may_be_our_own(const TryLockAll& /*wanted*/) {
    return true;
}

SteadyClock::time_point deadline_after(Duration patience) {
    const auto now = SteadyClock::now();
    if (patience >= SteadyClock::time_point::max() - now) return SteadyClock::time_point::max();
    return now + patience;
}

}  // namespace

struct WaitingLines::Waiter {
    Request wanted;
    SteadyClock::time_point until;
    Retry retry;
    Reply reply{};
    // Whether the lock ids were drawn for this wait: the caller learns them from the grant only.
    bool own_ids = with_try(wanted, [](const auto& r) {
        return std::ranges::all_of(tried_ids(r), FreshLockId::is_fresh);
    });

    Place place{};
    SteadyClock::time_point wakes_at = SteadyClock::time_point::max();
    Outcome latest{};  // a refusal or a fault
    bool has_joined = false;
    bool asking = false;
    bool again = false;  // a lease ended while it was asking
    bool over = false;   // the patience: the next answer is the last
    bool stopped = false;
    bool unsettled = false;  // a fault left open whether the lock was granted
    bool answered = false;
    std::optional<std::stop_callback<std::function<void()>>> on_stop{};

    [[nodiscard]] const std::string& owner() const { return *owner_of(wanted); }
};

WaitingLines::WaitingLines(Batcher& batcher, Store& store, RetryPolicy pauses)
    : batcher_{batcher},
      store_line_{store.line()},
      pauses_{pauses},
      watcher_{[&store] { return store.open_watch(); },
               [this](std::span<const LockKey> keys) { wake(keys); }} {}

WaitingLines::~WaitingLines() = default;

void WaitingLines::join(Request wanted, Duration patience, std::stop_token stop, Reply reply) {
    if (patience <= Duration::zero()) {
        return batcher_.submit(std::move(wanted), std::move(reply));
    }
    const auto until = deadline_after(patience);
    if (auto* one = std::get_if<TryLock>(&wanted); one != nullptr && store_line_ != nullptr) {
        return join_store_line(std::move(*one), until, std::move(stop), std::move(reply));
    }
    auto waiter =
        std::make_shared<Waiter>(std::move(wanted), until, Retry{pauses_}, std::move(reply));
    if (stop.stop_possible()) {
        waiter->on_stop.emplace(std::move(stop), [this, weak = std::weak_ptr{waiter}] {
            if (const WaiterPtr stopping = weak.lock()) this->stop(stopping);
        });
    }
    Work work;
    {
        const std::lock_guard lock{mutex_};
        try {
            enter(waiter);
            if (closed_) {
                leave(waiter, closing(), work);
            } else if (waiter->stopped) {
                leave(waiter, stopped(), work);
            } else {
                ask_if_first(waiter, work);
            }
        } catch (const std::bad_alloc&) {
            forget(waiter);
            waiter->answered = true;
            work = {};
            work.answers.emplace_back(waiter, out_of_memory(StoreFault::Effect::none));
        } catch (const std::system_error&) {
            leave(waiter, nothing_granted("the system cannot start a thread to wait with"), work);
        }
    }
    do_work(std::move(work));
}

Outcome WaitingLines::wait(Request wanted, Duration patience, std::stop_token stop) {
    if (patience <= Duration::zero()) return batcher_.ask(std::move(wanted));
    if (auto* one = std::get_if<TryLock>(&wanted); one != nullptr && store_line_ != nullptr) {
        return wait_in_store_line(std::move(*one), deadline_after(patience), stop);
    }
    const auto answer = std::make_shared<std::promise<Outcome>>();
    auto answered = answer->get_future();
    join(std::move(wanted), patience, std::move(stop),
         [answer](Outcome outcome) { answer->set_value(std::move(outcome)); });
    return answered.get();
}

void WaitingLines::ended(const Outcome& outcome) {
    if (waiting_ == 0) return;
    Work work;
    {
        const std::lock_guard lock{mutex_};
        if (const auto* lease = std::get_if<Lease>(&outcome)) ask_first_of(lease->key, work);
        if (const auto* leases = std::get_if<std::vector<Lease>>(&outcome)) {
            for (const Lease& lease : *leases) ask_first_of(lease.key, work);
        }
    }
    do_work(std::move(work));
}

void WaitingLines::wake(std::span<const LockKey> keys) {
    if (waiting_ == 0) return;
    Work work;
    {
        const std::lock_guard lock{mutex_};
        for (const LockKey& key : keys) ask_first_of(key, work);
    }
    do_work(std::move(work));
}

void WaitingLines::close() {
    Work work;
    std::list<StoreWait> store_waits;
    std::thread thread;
    {
        const std::lock_guard lock{mutex_};
        closed_ = true;
        std::vector<WaiterPtr> idle;
        for (const auto& [when, waiter] : agenda_) {
            if (!waiter->asking) idle.push_back(waiter);
        }
        for (const WaiterPtr& waiter : idle) leave(waiter, closing(), work);
        store_waits.swap(store_waits_);
        thread.swap(thread_);
        changed_.notify_all();
    }
    do_work(std::move(work));
    watcher_.close();
    if (thread.joinable()) thread.join();
    for (StoreWait& wait : store_waits) wait.stop.request_stop();
    for (StoreWait& wait : store_waits) wait.thread.join();
}

void WaitingLines::do_work(Work&& work) {
    for (auto& [waiter, outcome] : work.answers) {
        waiter->on_stop.reset();
        std::exchange(waiter->reply, {})(std::move(outcome));
    }
    for (Release& release : work.releases) send(std::move(release));
    for (const WaiterPtr& waiter : work.asks) send(waiter);
}

void WaitingLines::send(const WaiterPtr& waiter) {
    try {
        batcher_.submit(waiter->wanted,
                        [this, waiter](Outcome outcome) { tried(waiter, std::move(outcome)); });
    } catch (const std::bad_alloc&) {
        tried(waiter, out_of_memory(StoreFault::Effect::none));
    }
}

void WaitingLines::send(Release release) {
    try {
        batcher_.submit(std::move(release), [this](const Outcome& outcome) { ended(outcome); });
    } catch (const std::bad_alloc&) {
        // The lease, if there is one, ends when it expires.
    }
}

void WaitingLines::enter(const WaiterPtr& waiter) {
    const auto holds = [&](const LockKey& key) {
        const auto line = lines_.find(key);
        if (line == lines_.end()) return false;
        const auto* refusal = std::get_if<Refusal>(&line->second.latest);
        return refusal != nullptr && names(*refusal, waiter->owner());
    };
    const auto keys = keys_in(waiter->wanted);
    waiter->place = {std::ranges::any_of(keys, holds) ? Place::Rank::holder : Place::Rank::other,
                     ++arrivals_};
    for (const LockKey& key : keys) lines_[key].waiters.emplace(waiter->place, waiter);
    wake_at(waiter, waiter->until);
    waiter->has_joined = true;
    ++waiting_;
    start_thread();
}

void WaitingLines::forget(const WaiterPtr& waiter) noexcept {
    if (std::exchange(waiter->has_joined, false)) --waiting_;
    agenda_.erase({waiter->wakes_at, waiter});
    for (const LockKey& key : keys_in(waiter->wanted)) {
        const auto line = lines_.find(key);
        if (line == lines_.end()) continue;
        line->second.waiters.erase(waiter->place);
        if (!line->second.waiters.empty()) continue;
        if (line->second.watched) watcher_.remove(key);
        lines_.erase(line);
    }
}

void WaitingLines::leave(const WaiterPtr& waiter, Outcome outcome, Work& work) {
    waiter->answered = true;
    const bool granted = is_grant(outcome);
    if (!granted && waiter->unsettled && waiter->own_ids) give_back(*waiter, work);
    // The keys of which another try becomes the first.
    std::vector<LockKey> freed;
    for (const LockKey& key : keys_in(waiter->wanted)) {
        Line& line = lines_.at(key);
        if (granted) line.latest = {};
        if (line.waiters.begin()->second == waiter) freed.push_back(key);
    }
    forget(waiter);
    for (const LockKey& key : freed) {
        const auto line = lines_.find(key);
        if (line != lines_.end()) ask_if_first(line->second.waiters.begin()->second, work);
    }
    work.answers.emplace_back(waiter, std::move(outcome));
}

void WaitingLines::give_back(const Waiter& waiter, Work& work) {
    with_try(waiter.wanted, [&](const auto& r) {
        const auto keys = tried_keys(r);
        const auto ids = tried_ids(r);
        for (std::size_t i = 0; i < keys.size(); ++i) {
            work.releases.push_back({.key = keys[i], .lock_id = ids[i]});
        }
    });
}

bool WaitingLines::is_first(const Waiter& waiter) const {
    return std::ranges::all_of(keys_in(waiter.wanted), [&](const LockKey& key) {
        return lines_.at(key).waiters.begin()->second.get() == &waiter;
    });
}

void WaitingLines::ask(const WaiterPtr& waiter, Work& work) {
    waiter->asking = true;
    waiter->again = false;
    wake_at(waiter, waiter->until);
    work.asks.push_back(waiter);
}

void WaitingLines::ask_if_first(const WaiterPtr& waiter, Work& work) {
    if (!closed_ && !waiter->asking && is_first(*waiter)) ask(waiter, work);
}

void WaitingLines::ask_first_of(const LockKey& key, Work& work) {
    const auto line = lines_.find(key);
    if (line == lines_.end()) return;
    const WaiterPtr& first = line->second.waiters.begin()->second;
    if (first->asking) {
        first->again = true;
    } else {
        ask_if_first(first, work);
    }
}

void WaitingLines::watch(std::span<const LockKey> keys) {
    for (const LockKey& key : keys) {
        if (!std::exchange(lines_.at(key).watched, true)) watcher_.add(key);
    }
}

void WaitingLines::put_holders_first(const Waiter& refused, const Refusal& refusal) {
    std::vector<WaiterPtr> holders;
    for (const LockKey& key : keys_in(refused.wanted)) {
        for (const auto& [place, waiter] : lines_.at(key).waiters) {
            if (place.rank == Place::Rank::other && names(refusal, waiter->owner())) {
                holders.push_back(waiter);
            }
        }
    }
    for (const WaiterPtr& waiter : holders) {
        Place front = waiter->place;
        front.rank = Place::Rank::holder;
        for (const LockKey& key : keys_in(waiter->wanted)) {
            auto& waiters = lines_.at(key).waiters;
            if (auto node = waiters.extract(waiter->place)) {
                node.key() = front;
                waiters.insert(std::move(node));
            }
        }
        waiter->place = front;
    }
}

std::optional<Outcome> WaitingLines::latest_for(const Waiter& waiter) const {
    if (!std::holds_alternative<std::monostate>(waiter.latest)) return waiter.latest;
    for (const LockKey& key : keys_in(waiter.wanted)) {
        const auto line = lines_.find(key);
        if (line == lines_.end()) continue;
        const Outcome& latest = line->second.latest;
        if (std::holds_alternative<Refusal>(latest)) return latest;
        // The fault of another try: nothing was sent for this one.
        if (const auto* fault = std::get_if<StoreFault>(&latest)) {
            return StoreFault{StoreFault::Effect::none, fault->cause(), fault->what()};
        }
    }
    return std::nullopt;
}

Duration WaitingLines::pause_after(Waiter& waiter) const {
    const Duration pause =
        std::max<Duration>(*waiter.retry.next_pause(), lines_.size() * retries::held_lock_per_line);
    // The key is free when the last of its holders is gone, and a place when the first one is.
    const auto* refusal = std::get_if<Refusal>(&waiter.latest);
    if (refusal == nullptr || refusal->holders.empty()) return pause;
    const auto [first, last] = std::ranges::minmax(refusal->holders, {}, &Holder::expires_at);
    const bool wants_place =
        with_try(waiter.wanted, [](const auto& r) { return r.places.has_value(); });
    const Time expiry = (wants_place ? first : last).expires_at;
    if (expiry == never) return pause;
    return std::min(pause, std::max<Duration>(expiry - refusal->store_now, {}) + after_the_expiry);
}

void WaitingLines::end_patience(const WaiterPtr& waiter, Work& work) {
    waiter->over = true;
    if (waiter->asking) {
        wake_at(waiter, SteadyClock::time_point::max());
    } else if (auto latest = latest_for(*waiter)) {
        leave(waiter, *std::move(latest), work);
    } else {
        ask(waiter, work);
        wake_at(waiter, SteadyClock::time_point::max());
    }
}

void WaitingLines::wake_at(const WaiterPtr& waiter, SteadyClock::time_point when) {
    // Every try that waits is on the agenda. Moving its node needs no memory.
    auto node = agenda_.extract({waiter->wakes_at, waiter});
    waiter->wakes_at = when;
    if (node) {
        node.value().first = when;
        agenda_.insert(std::move(node));
    } else {
        agenda_.emplace(when, waiter);
    }
    if (agenda_.begin()->second == waiter) changed_.notify_all();
}

void WaitingLines::start_thread() {
    if (!thread_.joinable() && !closed_) thread_ = std::thread{[this] { run(); }};
}

void WaitingLines::tried(const WaiterPtr& waiter, Outcome outcome) {
    Work work;
    {
        const std::lock_guard lock{mutex_};
        waiter->asking = false;
        waiter->unsettled = is_unknown(outcome) ||
                            (waiter->unsettled && std::holds_alternative<StoreFault>(outcome));
        with_try(waiter->wanted, [](auto& r) { mark_as_sent(r); });
        if (waiter->answered) {
            // Stopped while it was asking.
            if (is_grant(outcome) || waiter->unsettled) give_back(*waiter, work);
        } else if (const bool own = waiter->own_ids &&
                                    with_try(waiter->wanted,
                                             [](const auto& r) { return gone_may_be_our_own(r); });
                   own && is_gone(outcome) && !closed_) {
            with_try(waiter->wanted, [](auto& r) { redraw(r); });
            ask(waiter, work);
        } else if (!may_change(outcome) || waiter->over || closed_) {
            leave(waiter, std::move(outcome), work);
        } else {
            const auto keys = keys_in(waiter->wanted);
            for (const LockKey& key : keys) lines_.at(key).latest = outcome;
            waiter->latest = std::move(outcome);
            if (const auto* refusal = std::get_if<Refusal>(&waiter->latest)) {
                put_holders_first(*waiter, *refusal);
                watch(keys);
            }
            if (waiter->again && is_first(*waiter)) {
                ask(waiter, work);
            } else {
                wake_at(waiter, std::min(waiter->until, SteadyClock::now() + pause_after(*waiter)));
            }
            for (const LockKey& key : keys) {
                const WaiterPtr& first = lines_.at(key).waiters.begin()->second;
                if (first != waiter) ask_if_first(first, work);
            }
        }
    }
    do_work(std::move(work));
}

void WaitingLines::stop(const WaiterPtr& waiter) {
    Work work;
    {
        const std::lock_guard lock{mutex_};
        waiter->stopped = true;
        if (waiter->answered || !waiter->has_joined) return;
        if (waiter->asking && !waiter->own_ids) {
            waiter->over = true;
        } else {
            leave(waiter, latest_for(*waiter).value_or(stopped()), work);
        }
    }
    do_work(std::move(work));
}

void WaitingLines::run() {
    std::unique_lock lock{mutex_};
    while (!closed_) {
        const auto now = SteadyClock::now();
        if (agenda_.empty() || agenda_.begin()->first > now) {
            if (agenda_.empty()) {
                changed_.wait(lock);
            } else {
                changed_.wait_for(lock, std::min(agenda_.begin()->first - now, longest_sleep));
            }
            continue;
        }
        const WaiterPtr waiter = agenda_.begin()->second;
        Work work;
        if (now >= waiter->until) {
            end_patience(waiter, work);
        } else if (!waiter->asking && is_first(*waiter)) {
            ask(waiter, work);
        } else {
            wake_at(waiter, waiter->until);
        }
        lock.unlock();
        do_work(std::move(work));
        lock.lock();
    }
}

void WaitingLines::join_store_line(TryLock wanted, SteadyClock::time_point until,
                                   std::stop_token stop, Reply reply) {
    std::list<StoreWait> done;  // joined at the end, without the mutex
    {
        const std::lock_guard lock{mutex_};
        for (auto at = store_waits_.begin(); at != store_waits_.end();) {
            const auto wait = at++;
            if (wait->done) done.splice(done.end(), store_waits_, wait);
        }
        if (!closed_) {
            StoreWait& wait = store_waits_.emplace_back();
            try {
                wait.thread = std::thread{[this, &wait, until, wanted, stop, reply] {
                    const std::stop_callback forward{stop, [&] { wait.stop.request_stop(); }};
                    reply(wait_in_store_line(wanted, until, wait.stop.get_token()));
                    const std::lock_guard ended{mutex_};
                    wait.done = true;
                }};
                reply = {};
            } catch (const std::system_error&) {
                store_waits_.pop_back();
            }
        }
    }
    for (StoreWait& wait : done) wait.thread.join();
    if (reply) reply(nothing_granted("the system cannot start a thread to wait with"));
}

Outcome WaitingLines::wait_in_store_line(TryLock wanted, SteadyClock::time_point until,
                                         const std::stop_token& stop) {
    const bool own_id = FreshLockId::is_fresh(wanted.lock_id);
    Retry retry{pauses_, until};
    std::optional<Refusal> latest;
    bool unsettled = false;
    for (;;) {
        const Duration left = std::max<Duration>(until - SteadyClock::now(), {});
        FreshLockId::mark_as_sent(wanted.lock_id);
        Outcome outcome = ask_store_line(wanted, left, stop);
        if (const auto* lease = std::get_if<Lease>(&outcome)) {
            // The lease began while this try waited: the holder's time counts from a renewal.
            unsettled = true;
            outcome = batcher_.ask(Renew{.key = lease->key,
                                         .lock_id = lease->lock_id,
                                         .ttl = wanted.ttl,
                                         .max_hold = wanted.max_hold});
            if (is_grant(outcome) && !(stop.stop_requested() && own_id)) return outcome;
        }
        unsettled = is_unknown(outcome) || is_grant(outcome) ||
                    (unsettled && std::holds_alternative<StoreFault>(outcome));
        if (own_id && is_gone(outcome) && gone_may_be_our_own(wanted)) {
            redraw(wanted);
            if (!stop.stop_requested()) continue;
        }
        if (const auto* refusal = std::get_if<Refusal>(&outcome)) latest = *refusal;
        if (may_change(outcome) && !stop.stop_requested() && retry.pause(stop)) continue;
        if (own_id && unsettled) {
            ended(batcher_.ask(Release{.key = wanted.key, .lock_id = wanted.lock_id}));
        }
        if (!stop.stop_requested()) return outcome;
        if (!own_id) return outcome;
        return latest ? Outcome{*std::move(latest)} : stopped();
    }
}

Outcome WaitingLines::ask_store_line(const TryLock& wanted, Duration patience,
                                     const std::stop_token& stop) {
    try {
        return store_line_->wait(wanted, patience, stop);
    } catch (const StoreFault& fault) {
        return fault;
    } catch (const std::bad_alloc&) {
        return out_of_memory(StoreFault::Effect::unknown);
    }
}

}  // namespace leasehold
