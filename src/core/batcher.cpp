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
      takes_any_number_{store.concurrency() == Store::any_number},
      housekeeping_interval_{options.housekeeping_interval.value_or(store.housekeeping_interval())},
      next_housekeeping_{Clock::now() + housekeeping_interval_} {
    (void)out_of_memory(StoreFault::Effect::none);
}

Batcher::~Batcher() {
    std::unique_lock lock{mutex_};
    closing_ = true;
    lock.unlock();
    dispatcher_wakes_.notify_all();
    for (std::thread& dispatcher : dispatchers_) dispatcher.join();
}

Outcome Batcher::ask(Request&& request) {
    const RequestKind kind = kind_of(request);
    auto asked_at = Clock::now();
    if (takes_any_number_ && begin_housekeeping(asked_at)) wake_housekeeper();
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
    if (takes_any_number_ || (queued_ == 0 && !is_spaced() && begin_call())) {
        Outcome outcome;
        apply(&Store::apply, {&request, 1}, {&outcome, 1});
        if (!takes_any_number_) end_call();
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
    while (queued.group->has_moved(queued.index)) {
        queued = Queued{queued.group->moved[queued.index]};
        queued.group->done.wait();
    }
    request = std::move(queued.group->requests[queued.index]);
    return std::move(queued.group->outcomes[queued.index]);
}

void Batcher::submit(Request request, Reply reply) {
    // A reply may submit a request. The dispatcher answers it, so that replies do not nest.
    thread_local bool replying = false;
    const auto asked_at = Clock::now();
    if (takes_any_number_ && !replying) {
        if (begin_housekeeping(asked_at)) wake_housekeeper();
        Outcome outcome;
        apply(&Store::apply, {&request, 1}, {&outcome, 1});
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
    if (groups_.empty() || groups_.back()->is_held_back ||
        groups_.back()->weight + weight > limits_.batch_requests) {
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
    const std::size_t most = store_.concurrency();
    std::size_t running = running_calls_;
    while (running < most) {
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
    return options_.dispatch == Options::Dispatch::by_caller || !dispatchers_.empty() ||
           add_dispatcher();
}

bool Batcher::add_dispatcher() {
    try {
        make_room(dispatchers_);
        dispatchers_.emplace_back([this] { run_dispatcher(); });
    } catch (const std::system_error&) {
        return false;
    }
    return true;
}

void Batcher::wake_dispatcher() {
    if (running_calls_ >= store_.concurrency()) return;
    {
        const std::lock_guard lock{mutex_};
        if (next_call_is_awaited_) return;
    }
    dispatcher_wakes_.notify_one();
}

void Batcher::apply(Call call, std::span<const Request> requests,
                    std::span<Outcome> outcomes) noexcept {
    try {
        apply_with_memory(call, requests, outcomes);
    } catch (const std::bad_alloc&) {
        answer_without_memory(requests, outcomes);
    }
}

void Batcher::apply_with_memory(Call call, std::span<const Request> requests,
                                std::span<Outcome> outcomes) {
    try {
        (store_.*call)(requests, outcomes);
        if (call != &Store::apply_first && std::ranges::any_of(outcomes, is_unanswered)) {
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
    if (is_spaced()) return dispatch_spaced(lock);
    auto& waiting = rests_.empty() ? groups_ : rests_;
    if (waiting.empty() || !begin_call()) return false;
    std::shared_ptr<Group> group = std::move(waiting.front());
    waiting.pop_front();
    queued_ -= group->requests.size();
    lock.unlock();
    dispatch(*group, &Store::apply);
    group.reset();
    lock.lock();
    return true;
}

void Batcher::run_dispatcher() {
    std::unique_lock lock{mutex_};
    for (;;) {
        // Deferred requests first: under load there is always a next group.
        if (send_deferred(lock) || dispatch_next(lock)) continue;
        if (closing_ && unanswered_ == 0 && groups_.empty() && rests_.empty()) break;
        if (keep_house(lock)) continue;
        wait_for_work(lock);
    }
    lock.unlock();
    dispatcher_wakes_.notify_all();
}

void Batcher::wait_for_work(std::unique_lock<std::mutex>& lock) {
    auto until = Clock::time_point::max();
    if (!deferred_.empty()) until = std::ranges::min(deferred_, {}, &Deferred::due).due;
    const bool awaits_next_call = !groups_.empty() && !next_call_is_awaited_ && is_spaced() &&
                                  running_calls_ < store_.concurrency() &&
                                  next_call_ > Clock::now();
    if (awaits_next_call) {
        next_call_is_awaited_ = true;
        until = std::min(until, next_call_);
    }
    ++idle_dispatchers_;
    if (until == Clock::time_point::max()) {
        dispatcher_wakes_.wait(lock);
    } else {
        dispatcher_wakes_.wait_until(lock, until);
    }
    --idle_dispatchers_;
    if (awaits_next_call) next_call_is_awaited_ = false;
}

void Batcher::dispatch(Group& group, Call call) {
    apply(call, group.requests, group.outcomes);
    const std::size_t sleepers = group.requests.size() - group.submitted.size();
    if (group.names.empty() && call == &Store::apply) {
        --running_calls_;
    } else {
        const std::lock_guard lock{mutex_};
        if (call == &Store::apply_first) keep_rest(group);
        end_dispatched_call(group);
    }
    // From here on each blocking caller takes its outcome away. The others stay untouched.
    group.done.set(sleepers);
    for (Submitted& submitted : group.submitted) {
        if (!group.has_moved(submitted.index)) reply_to(group, submitted);
    }
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
    const bool spaced = is_spaced();
    if (!(spaced ? begin_spaced_call() : begin_call())) return false;
    lock.unlock();
    const bool unfinished = store_.keep_house();
    if (!unfinished) end_housekeeping();
    lock.lock();
    --running_calls_;
    if (spaced) --spaced_calls_;
    return true;
}

}  // namespace leasehold
