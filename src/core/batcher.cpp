#include "core/batcher.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <new>
#include <string>
#include <system_error>
#include <utility>

#include "core/out_of_memory.hpp"

namespace leasehold {
namespace {

bool is_busy(const Outcome& outcome) {
    const auto* refusal = std::get_if<Refusal>(&outcome);
    return refusal != nullptr && refusal->kind == Refusal::Kind::busy;
}

bool is_unanswered(const Outcome& outcome) {
    return std::holds_alternative<std::monostate>(outcome);
}

// Counted from before the store was asked: a slow answer shortens the holder's time.
void stamp(Lease& lease, RequestKind kind, SteadyClock::time_point asked_at) {
    lease.ended = ends(kind);
    const auto left = lease.remaining();
    lease.valid_until = left ? asked_at + *left : SteadyClock::time_point::max();
}

void stamp(Outcome& outcome, RequestKind kind, SteadyClock::time_point asked_at) {
    if (auto* lease = std::get_if<Lease>(&outcome)) stamp(*lease, kind, asked_at);
    if (auto* leases = std::get_if<std::vector<Lease>>(&outcome)) {
        for (Lease& lease : *leases) stamp(lease, kind, asked_at);
    }
}

void answer_the_rest(std::span<Outcome> outcomes, const StoreFault& fault) {
    for (Outcome& outcome : outcomes) {
        if (!is_unanswered(outcome)) continue;
        // A new exception each: copies share their text, and the outcomes go to different threads.
        outcome = StoreFault{fault.effect(), fault.cause(), fault.what()};
    }
}

// Needs no memory.
void answer_without_memory(std::span<const Request> requests, std::span<Outcome> outcomes) {
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
        if (!is_unanswered(outcomes[i])) continue;
        outcomes[i] = out_of_memory(only_reads(kind_of(requests[i])) ? StoreFault::Effect::none
                                                                     : StoreFault::Effect::unknown);
    }
}

// Makes sure that the next push_back needs no memory.
template <class T>
void make_room(std::vector<T>& list) {
    if (list.size() == list.capacity()) list.reserve(std::max<std::size_t>(4, 2 * list.size()));
}
template <class T>
bool has_room(std::vector<T>& list) {
    try {
        make_room(list);
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

StoreFault unavailable(const std::string& problem) {
    return {StoreFault::Effect::none, StoreFault::Cause::unavailable, problem};
}

}  // namespace

Batcher::Batcher(Store& store, const Limits& limits, Options options)
    : store_{store},
      limits_{limits},
      options_{options},
      max_calls_{store.concurrency()},
      housekeeping_interval_{options.housekeeping_interval.value_or(store.housekeeping_interval())},
      next_housekeeping_{Clock::now() + housekeeping_interval_} {
    (void)out_of_memory(StoreFault::Effect::none);
}

Batcher::~Batcher() {
    std::unique_lock lock{mutex_};
    closing_ = true;
    if (!dispatcher_.joinable()) return;
    lock.unlock();
    dispatcher_wakes_.notify_all();
    dispatcher_.join();
}

Outcome Batcher::ask(Request&& request) {
    const RequestKind kind = kind_of(request);
    auto asked_at = Clock::now();
    if (max_calls_ == Store::any_number && begin_housekeeping(asked_at)) wake_housekeeper();
    Outcome outcome = ask_once(request);
    if (is_busy(outcome)) {
        Retry retry{retries::busy_lease, Clock::now() + limits_.busy_patience};
        while (is_busy(outcome) && retry.pause()) {
            asked_at = Clock::now();
            outcome = ask_once(request);
        }
    }
    stamp(outcome, kind, asked_at);
    return outcome;
}

Outcome Batcher::ask_once(Request& request) {
    if (max_calls_ == Store::any_number || (queued_ == 0 && begin_call())) {
        Outcome outcome;
        apply({&request, 1}, {&outcome, 1});
        if (max_calls_ != Store::any_number) end_call();
        return outcome;
    }
    Queued queued;
    {
        const std::lock_guard lock{mutex_};
        queued = join_group(request);
    }
    if (!queued.group) return cannot_queue();
    wake_dispatcher();
    queued.group->done.wait();
    request = std::move(queued.group->requests[queued.index]);
    return std::move(queued.group->outcomes[queued.index]);
}

void Batcher::submit(Request request, Reply reply) {
    // A reply may submit a request. The dispatcher answers it, so that replies do not nest.
    thread_local bool replying = false;
    const auto asked_at = Clock::now();
    if (max_calls_ == Store::any_number && !replying) {
        if (begin_housekeeping(asked_at)) wake_housekeeper();
        Outcome outcome;
        apply({&request, 1}, {&outcome, 1});
        if (!is_busy(outcome)) {
            stamp(outcome, kind_of(request), asked_at);
            replying = true;
            reply(std::move(outcome));
            replying = false;
            return;
        }
    }
    enqueue(std::move(request), std::move(reply),
            Retry{retries::busy_lease, asked_at + limits_.busy_patience});
}

void Batcher::enqueue(Request&& request, Reply&& reply, const Retry& retry) {
    const auto asked_at = Clock::now();
    Queued queued;
    {
        const std::lock_guard lock{mutex_};
        queued = join_group(request);
        if (queued.group) {
            queued.group->submitted.push_back(
                {queued.index, std::exchange(reply, {}), asked_at, retry});
            ++unanswered_;
        }
    }
    if (queued.group)
        wake_dispatcher();
    else
        reply(cannot_queue());
}

Batcher::Queued Batcher::join_group(Request& request) {
    if (queued_ >= limits_.queued_requests || !start_dispatcher()) return {};
    const std::size_t weight = weight_of(request);
    if (groups_.empty() || groups_.back()->weight + weight > limits_.batch_requests) {
        groups_.push_back(std::make_shared<Group>());
    }
    Group& group = *groups_.back();
    make_room(group.requests);
    make_room(group.submitted);
    make_room(group.outcomes);
    group.requests.push_back(std::move(request));
    group.outcomes.emplace_back();
    group.weight += weight;
    ++queued_;
    return {groups_.back(), group.requests.size() - 1};
}

Outcome Batcher::cannot_queue() const {
    const std::size_t queued = queued_;
    return queued < limits_.queued_requests
               ? unavailable("the system cannot start a thread to ask the store")
               : unavailable("the store cannot keep up: " + std::to_string(queued) +
                             " requests are waiting for it");
}

void Batcher::Signal::wait() noexcept {
    while (set_ == 0) syscall(SYS_futex, &set_, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
    if (--asleep_ > 0) wake_some();
}

void Batcher::Signal::set(std::size_t sleepers) noexcept {
    asleep_ = sleepers;
    set_ = 1;
    if (sleepers > 0) wake_some();
}

void Batcher::Signal::wake_some() noexcept {
    constexpr int some = 2;
    syscall(SYS_futex, &set_, FUTEX_WAKE_PRIVATE, some, nullptr, nullptr, 0);
}

bool Batcher::begin_call() noexcept {
    std::size_t running = running_calls_;
    while (running < max_calls_) {
        if (running_calls_.compare_exchange_weak(running, running + 1)) return true;
    }
    return false;
}

// A thread that adds to the queue looks at the running calls afterwards; a thread that ends a call
// looks at the queue afterwards. So at least one of the two wakes the dispatcher.
void Batcher::end_call() {
    --running_calls_;
    if (begin_housekeeping(Clock::now())) return wake_housekeeper();
    if (queued_ > 0 || housekeeping_pending_) wake_dispatcher();
}

bool Batcher::start_dispatcher() {
    if (options_.dispatch == Options::Dispatch::by_caller || dispatcher_.joinable()) return true;
    try {
        dispatcher_ = std::thread{[this] { run_dispatcher(); }};
    } catch (const std::system_error&) {
        return false;
    }
    return true;
}

void Batcher::wake_dispatcher() {
    if (running_calls_ >= max_calls_) return;
    {
        const std::lock_guard lock{mutex_};
    }
    dispatcher_wakes_.notify_one();
}

void Batcher::apply(std::span<const Request> requests, std::span<Outcome> outcomes) noexcept {
    try {
        apply_with_memory(requests, outcomes);
    } catch (const std::bad_alloc&) {
        answer_without_memory(requests, outcomes);
    }
}

void Batcher::apply_with_memory(std::span<const Request> requests, std::span<Outcome> outcomes) {
    try {
        store_.apply(requests, outcomes);
        if (std::ranges::any_of(outcomes, is_unanswered)) {
            answer_the_rest(outcomes, {StoreFault::Effect::unknown, StoreFault::Cause::internal,
                                       "the store gave no answer to this request"});
        }
    } catch (const StoreFault& fault) {
        answer_the_rest(outcomes, fault);  // lab: unanswered
    } catch (const std::bad_alloc&) {
        throw;
    } catch (const std::exception& error) {
        answer_the_rest(outcomes,
                        {StoreFault::Effect::unknown, StoreFault::Cause::internal, error.what()});
    }
}

bool Batcher::dispatch_one() {
    std::unique_lock lock{mutex_};
    return dispatch_next(lock);
}

bool Batcher::dispatch_next(std::unique_lock<std::mutex>& lock) {
    if (groups_.empty() || !begin_call()) return false;
    std::shared_ptr<Group> group = std::move(groups_.front());
    groups_.pop_front();
    queued_ -= group->requests.size();
    lock.unlock();
    dispatch(*group);
    group.reset();
    lock.lock();
    return true;
}

void Batcher::run_dispatcher() {
    std::unique_lock lock{mutex_};
    for (;;) {
        // Deferred requests first: under load there is always a next group.
        if (send_deferred(lock) || dispatch_next(lock)) continue;
        if (closing_ && unanswered_ == 0 && groups_.empty()) return;
        if (keep_house(lock)) continue;
        if (deferred_.empty()) {
            dispatcher_wakes_.wait(lock);
        } else {
            dispatcher_wakes_.wait_until(lock, std::ranges::min(deferred_, {}, &Deferred::due).due);
        }
    }
}

void Batcher::dispatch(Group& group) {
    apply(group.requests, group.outcomes);
    --running_calls_;
    // From here on each blocking caller takes its outcome away. The others stay untouched.
    group.done.set(group.requests.size() - group.submitted.size());
    for (Submitted& submitted : group.submitted) reply_to(group, submitted);
}

void Batcher::reply_to(Group& group, Submitted& submitted) {
    Outcome& outcome = group.outcomes[submitted.index];  // lab: answer
    const auto pause = is_busy(outcome) ? submitted.retry.next_pause() : std::nullopt;
    if (pause) {
        const std::lock_guard lock{mutex_};
        if (!closing_ && deferred_.size() < limits_.queued_requests && has_room(deferred_)) {
            deferred_.push_back({Clock::now() + *pause, std::move(group.requests[submitted.index]),
                                 std::move(submitted.reply), submitted.retry});
            return;
        }
    }
    stamp(outcome, kind_of(group.requests[submitted.index]), submitted.asked_at);
    std::exchange(submitted.reply, {})(std::move(outcome));
    const std::lock_guard lock{mutex_};
    --unanswered_;
}

// Sends one request that is due. False if none is.
bool Batcher::send_deferred(std::unique_lock<std::mutex>& lock) {
    const auto now = Clock::now();
    const auto due = std::ranges::find_if(
        deferred_, [&](const Deferred& deferred) { return closing_ || deferred.due <= now; });
    if (due == deferred_.end()) return false;
    Deferred again = std::move(*due);
    deferred_.erase(due);
    --unanswered_;
    lock.unlock();
    try {
        enqueue(std::move(again.request), std::move(again.reply), again.retry);
    } catch (const std::bad_alloc&) {
        again.reply(out_of_memory(StoreFault::Effect::none));
    }
    lock.lock();
    return true;
}

bool Batcher::begin_housekeeping(Clock::time_point now) noexcept {
    auto due = next_housekeeping_.load(std::memory_order_relaxed);
    if (now < due || options_.dispatch == Options::Dispatch::by_caller) return false;
    if (!next_housekeeping_.compare_exchange_strong(due, Clock::time_point::max())) return false;
    housekeeping_pending_ = true;
    return true;
}

void Batcher::end_housekeeping() noexcept {
    housekeeping_pending_ = false;
    next_housekeeping_ = Clock::now() + housekeeping_interval_;
}

void Batcher::wake_housekeeper() {
    {
        const std::lock_guard lock{mutex_};
        if (!start_dispatcher()) return end_housekeeping();
    }
    dispatcher_wakes_.notify_one();
}

// Lets the store do one piece of its housekeeping. False if it is not due, or the store is busy.
bool Batcher::keep_house(std::unique_lock<std::mutex>& lock) {
    if (closing_) return false;
    if (!housekeeping_pending_ && !begin_housekeeping(Clock::now())) return false;
    if (!begin_call()) return false;
    lock.unlock();
    const bool unfinished = store_.keep_house();
    --running_calls_;
    if (!unfinished) end_housekeeping();
    lock.lock();
    return true;
}

}  // namespace leasehold
