#include "core/batcher.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <string>
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

Outcome overfull(std::size_t queued) {
    return StoreFault{
        StoreFault::Effect::none, StoreFault::Cause::unavailable,
        "the store cannot keep up: " + std::to_string(queued) + " requests are waiting for it"};
}

}  // namespace

Batcher::Batcher(Store& store, const Limits& limits)
    : store_{store}, limits_{limits}, lanes_{store.concurrency()} {}

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
    if (!seat.group) return overfull(queued_);
    appoint_leaders();

    Group& group = *seat.group;
    for (Stage stage = group.stage.get(); stage != Stage::done; stage = group.stage.get()) {
        if (stage == Stage::leader_wanted && group.stage.advance(stage, Stage::led)) {
            lead(group);
            break;
        }
        group.stage.wait_while(stage);
    }
    request = std::move(group.requests[seat.index]);
    return std::move(group.outcomes[seat.index]);
}

void Batcher::submit(Request request, Reply reply) {
    enqueue(std::move(request), std::move(reply), Clock::now() + limits_.busy_patience);
}

void Batcher::enqueue(Request&& request, Reply&& reply, Clock::time_point give_up) {
    bool seated = false;
    {
        const std::lock_guard lock{mutex_};
        if (!dispatcher_.joinable()) dispatcher_ = std::thread{[this] { run_dispatcher(); }};
        if (const Seat seat = take_seat(request); seat.group) {
            seat.group->submitted.push_back({seat.index, std::exchange(reply, {}), give_up});
            ++unanswered_;
            seated = true;
        }
    }
    seated ? appoint_leaders() : reply(overfull(queued_));
}

void Batcher::StageSignal::wait_while(Stage stage) noexcept {
    syscall(SYS_futex, &stage_, FUTEX_WAIT_PRIVATE, static_cast<std::uint32_t>(stage), nullptr,
            nullptr, 0);
}

void Batcher::StageSignal::set_and_wake(Stage stage, int sleepers) noexcept {
    stage_ = stage;
    syscall(SYS_futex, &stage_, FUTEX_WAKE_PRIVATE, sleepers, nullptr, nullptr, 0);
}

bool Batcher::enter_lane() noexcept {
    std::size_t busy = busy_lanes_;
    while (busy < lanes_) {
        if (busy_lanes_.compare_exchange_weak(busy, busy + 1)) return true;
    }
    return false;
}

void Batcher::leave_lane() {
    --busy_lanes_;
    if (queued_ > 0) appoint_leaders();
}

Batcher::Seat Batcher::take_seat(Request& request) {
    if (queued_ >= limits_.queued_requests) return {};
    if (groups_.empty() || groups_.back()->requests.size() >= limits_.batch_requests) {
        groups_.push_back(std::make_shared<Group>());
    }
    Group& group = *groups_.back();
    group.requests.push_back(std::move(request));
    ++queued_;
    return {groups_.back(), group.requests.size() - 1};
}

// Whoever adds to the queue and whoever leaves a lane both come here, each after its own step was
// visible to the other: no group is left behind.
void Batcher::appoint_leaders() {
    while (queued_ > 0 && enter_lane()) {
        std::shared_ptr<Group> group;
        {
            const std::lock_guard lock{mutex_};
            if (!groups_.empty()) {
                group = std::move(groups_.front());
                groups_.pop_front();
                queued_ -= group->requests.size();
                if (!group->somebody_waits()) {
                    to_dispatch_.push_back(std::move(group));
                    dispatcher_wakes_.notify_one();
                    continue;
                }
            }
        }
        if (!group) {
            --busy_lanes_;
            continue;
        }
        group->stage.set_and_wake(Stage::leader_wanted, 1);
    }
}

void Batcher::lead(Group& group) {
    group.outcomes.resize(group.requests.size());
    apply(group.requests, group.outcomes);
    leave_lane();
    for (Submitted& submitted : group.submitted) reply_to(group, submitted);
    group.stage.set_and_wake(Stage::done, std::numeric_limits<int>::max());
}

void Batcher::apply(std::span<const Request> requests, std::span<Outcome> outcomes) noexcept {
    try {
        store_.apply(requests, outcomes);
        if (std::ranges::any_of(outcomes, is_unanswered)) {
            give_the_unanswered(outcomes, {StoreFault::Effect::unknown, StoreFault::Cause::internal,
                                           "the store gave no answer to this request"});
        }
    } catch (const StoreFault& fault) {
        give_the_unanswered(outcomes, fault);
    } catch (const std::exception& error) {
        give_the_unanswered(
            outcomes, {StoreFault::Effect::unknown, StoreFault::Cause::internal, error.what()});
    }
}

void Batcher::reply_to(Group& group, Submitted& submitted) {
    Outcome& outcome = group.outcomes[submitted.index];
    if (is_busy(outcome) && Clock::now() < submitted.give_up) {
        const std::lock_guard lock{mutex_};
        if (!closing_ && deferred_.size() < limits_.queued_requests) {
            deferred_.push_back({Clock::now() + longest_pause / 2,
                                 std::move(group.requests[submitted.index]),
                                 std::move(submitted.reply), submitted.give_up});
            dispatcher_wakes_.notify_one();
            return;
        }
    }
    submitted.reply(std::move(outcome));
    const std::lock_guard lock{mutex_};
    if (--unanswered_ == 0 && closing_) dispatcher_wakes_.notify_all();
}

void Batcher::run_dispatcher() {
    std::unique_lock lock{mutex_};
    for (;;) {
        if (!to_dispatch_.empty()) {
            const std::shared_ptr<Group> group = std::move(to_dispatch_.front());
            to_dispatch_.pop_front();
            lock.unlock();
            lead(*group);
            lock.lock();
            continue;
        }
        const auto now = Clock::now();
        const auto due = std::ranges::find_if(
            deferred_, [&](const Deferred& d) { return closing_ || d.due <= now; });
        if (due != deferred_.end()) {
            Deferred again = std::move(*due);
            deferred_.erase(due);
            --unanswered_;
            lock.unlock();
            enqueue(std::move(again.request), std::move(again.reply), again.give_up);
            lock.lock();
            continue;
        }
        if (closing_ && unanswered_ == 0) return;
        if (deferred_.empty()) {
            dispatcher_wakes_.wait(lock);
        } else {
            dispatcher_wakes_.wait_until(lock, std::ranges::min(deferred_, {}, &Deferred::due).due);
        }
    }
}

}  // namespace leasehold
