#include "core/batcher.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <string>
#include <system_error>
#include <utility>

namespace leasehold {
namespace {

constexpr std::chrono::milliseconds first_pause{1};
constexpr std::chrono::milliseconds longest_pause{16};

bool is_busy(const Outcome& outcome) {
    const auto* refusal = std::get_if<Refusal>(&outcome);
    return refusal != nullptr && refusal->kind == Refusal::Kind::busy;
}

bool is_unanswered(const Outcome& outcome) {
    return std::holds_alternative<std::monostate>(outcome);
}

void give_the_unanswered(std::span<Outcome> outcomes, const StoreFault& fault) {
    for (Outcome& outcome : outcomes) {
        if (!is_unanswered(outcome)) continue;
        // Made anew: copies of an exception share their text, and these go to different threads.
        outcome = StoreFault{fault.effect(), fault.cause(), fault.what()};
    }
}

StoreFault unavailable(const std::string& problem) {
    return {StoreFault::Effect::none, StoreFault::Cause::unavailable, problem};
}

}  // namespace

Batcher::Batcher(Store& store, const Limits& limits, Led led)
    : store_{store}, limits_{limits}, led_{led}, lanes_{store.concurrency()} {}

Batcher::~Batcher() {
    std::unique_lock lock{mutex_};
    closing_ = true;
    if (!dispatcher_.joinable()) return;
    lock.unlock();
    dispatcher_wakes_.notify_all();
    dispatcher_.join();
}

Outcome Batcher::ask(Request&& request) {
    Outcome outcome = ask_once(request);
    if (!is_busy(outcome)) return outcome;
    const auto give_up = Clock::now() + limits_.busy_patience;
    for (auto pause = first_pause; is_busy(outcome) && Clock::now() < give_up;
         pause = std::min(2 * pause, longest_pause)) {
        std::this_thread::sleep_for(pause);
        outcome = ask_once(request);
    }
    return outcome;
}

Outcome Batcher::ask_once(Request& request) {
    if (lanes_ == Store::any_number || (queued_ == 0 && enter_lane())) {
        Outcome outcome;
        apply({&request, 1}, {&outcome, 1});
        if (lanes_ != Store::any_number) leave_lane();
        return outcome;
    }
    Seat seat;
    {
        const std::lock_guard lock{mutex_};
        seat = take_seat(request);
    }
    if (!seat.group) return no_seat();
    wake_dispatcher();
    seat.group->done.wait();
    request = std::move(seat.group->requests[seat.index]);
    return std::move(seat.group->outcomes[seat.index]);
}

void Batcher::submit(Request request, Reply reply) {
    // A reply that asks for more is answered by the dispatcher: no reply stands on another.
    thread_local bool replying = false;
    if (lanes_ == Store::any_number && !replying) {
        Outcome outcome;
        apply({&request, 1}, {&outcome, 1});
        if (!is_busy(outcome)) {
            replying = true;
            reply(std::move(outcome));
            replying = false;
            return;
        }
    }
    enqueue(std::move(request), std::move(reply), Clock::now() + limits_.busy_patience);
}

void Batcher::enqueue(Request&& request, Reply&& reply, Clock::time_point give_up) {
    Seat seat;
    {
        const std::lock_guard lock{mutex_};
        seat = take_seat(request);
        if (seat.group) {
            seat.group->submitted.push_back({seat.index, std::exchange(reply, {}), give_up});
            ++unanswered_;
        }
    }
    if (seat.group)
        wake_dispatcher();
    else
        reply(no_seat());
}

Batcher::Seat Batcher::take_seat(Request& request) {
    if (queued_ >= limits_.queued_requests || !start_dispatcher()) return {};
    if (groups_.empty() || groups_.back()->requests.size() >= limits_.batch_requests) {
        groups_.push_back(std::make_shared<Group>());
    }
    Group& group = *groups_.back();
    group.requests.push_back(std::move(request));
    ++queued_;
    return {groups_.back(), group.requests.size() - 1};
}

Outcome Batcher::no_seat() const {
    const std::size_t queued = queued_;
    return queued < limits_.queued_requests
               ? unavailable("no thread can be started to ask the store")
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

bool Batcher::enter_lane() noexcept {
    std::size_t busy = busy_lanes_;
    while (busy < lanes_) {
        if (busy_lanes_.compare_exchange_weak(busy, busy + 1)) return true;
    }
    return false;
}

// Whoever adds to the queue looks at the lanes afterwards, and whoever leaves a lane at the queue:
// one of them wakes the dispatcher.
void Batcher::leave_lane() {
    --busy_lanes_;
    if (queued_ > 0) wake_dispatcher();
}

bool Batcher::start_dispatcher() {
    if (led_ == Led::by_hand || dispatcher_.joinable()) return true;
    try {
        dispatcher_ = std::thread{[this] { run_dispatcher(); }};
    } catch (const std::system_error&) {
        return false;
    }
    return true;
}

void Batcher::wake_dispatcher() {
    if (busy_lanes_ >= lanes_) return;
    {
        const std::lock_guard lock{mutex_};
    }
    dispatcher_wakes_.notify_one();
}

void Batcher::apply(std::span<const Request> requests, std::span<Outcome> outcomes) noexcept {
    try {
        store_.apply(requests, outcomes);
        if (std::ranges::any_of(outcomes, is_unanswered)) {
            give_the_unanswered(outcomes, {StoreFault::Effect::unknown, StoreFault::Cause::internal,
                                           "the store gave no answer to this request"});
        }
    } catch (const StoreFault& fault) {
        give_the_unanswered(outcomes, fault);  // lab: unanswered
    } catch (const std::exception& error) {
        give_the_unanswered(
            outcomes, {StoreFault::Effect::unknown, StoreFault::Cause::internal, error.what()});
    }
}

bool Batcher::lead_one() {
    std::unique_lock lock{mutex_};
    return lead_next(lock);
}

bool Batcher::lead_next(std::unique_lock<std::mutex>& lock) {
    if (groups_.empty() || !enter_lane()) return false;
    std::shared_ptr<Group> group = std::move(groups_.front());
    groups_.pop_front();
    queued_ -= group->requests.size();
    lock.unlock();
    lead(*group);
    group.reset();
    lock.lock();
    return true;
}

void Batcher::run_dispatcher() {
    std::unique_lock lock{mutex_};
    for (;;) {
        // First what is due again: under load there is always a next group.
        if (ask_again_what_is_due(lock) || lead_next(lock)) continue;
        if (closing_ && unanswered_ == 0 && groups_.empty()) return;
        if (deferred_.empty()) {
            dispatcher_wakes_.wait(lock);
        } else {
            dispatcher_wakes_.wait_until(lock, std::ranges::min(deferred_, {}, &Deferred::due).due);
        }
    }
}

void Batcher::lead(Group& group) {
    group.outcomes.resize(group.requests.size());
    apply(group.requests, group.outcomes);
    --busy_lanes_;
    // Once it is done, those who waited take their outcomes away; these here nobody else touches.
    group.done.set(group.requests.size() - group.submitted.size());
    for (Submitted& submitted : group.submitted) reply_to(group, submitted);
}

void Batcher::reply_to(Group& group, Submitted& submitted) {
    Outcome& outcome = group.outcomes[submitted.index];  // lab: answer
    if (is_busy(outcome) && Clock::now() < submitted.give_up) {
        const std::lock_guard lock{mutex_};
        if (!closing_ && deferred_.size() < limits_.queued_requests) {
            deferred_.push_back({Clock::now() + longest_pause / 2,
                                 std::move(group.requests[submitted.index]),
                                 std::move(submitted.reply), submitted.give_up});
            return;
        }
    }
    std::exchange(submitted.reply, {})(std::move(outcome));
    const std::lock_guard lock{mutex_};
    --unanswered_;
}

// One of them. False where none was.
bool Batcher::ask_again_what_is_due(std::unique_lock<std::mutex>& lock) {
    const auto now = Clock::now();
    const auto due = std::ranges::find_if(
        deferred_, [&](const Deferred& deferred) { return closing_ || deferred.due <= now; });
    if (due == deferred_.end()) return false;
    Deferred again = std::move(*due);
    deferred_.erase(due);
    --unanswered_;
    lock.unlock();
    enqueue(std::move(again.request), std::move(again.reply), again.give_up);
    lock.lock();
    return true;
}

}  // namespace leasehold
