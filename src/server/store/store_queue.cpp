#include "server/store/store_queue.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <optional>
#include <unordered_set>
#include <utility>

#include "core/request_traits.hpp"

namespace leasehold::server {
namespace {

bool keeps_or_ends(const Request& request) {
    return pace_of(kind_of(request)) == Pace::keeps;
}

// Which requests of a batch go first: those that keep or end a lease, unless an earlier request
// that does not go first is, or may be, about the same key.
std::vector<bool> go_first(std::span<const Request> requests) {
    std::vector<bool> first;
    std::unordered_set<LockKey> left_behind;
    bool any_key_left_behind = false;
    for (const Request& request : requests) {
        const auto keys = keys_of(request);
        const bool free = keys && !any_key_left_behind &&
                          std::ranges::none_of(
                              *keys, [&](const LockKey& key) { return left_behind.contains(key); });
        const bool all_before_go_first = left_behind.empty() && !any_key_left_behind;
        first.push_back(keeps_or_ends(request) && (free || all_before_go_first));
        if (first.back()) continue;
        if (keys) left_behind.insert(keys->begin(), keys->end());
        any_key_left_behind = any_key_left_behind || !keys;
    }
    return first;
}

// What a request's outcome is published with, after the request was moved from.
struct Asked {
    explicit Asked(const Request& request) : kind{kind_of(request)} {
        if (const std::string* const named = owner_of(request)) owner = *named;
    }

    RequestKind kind;
    std::string owner{};
};

Outcome turned_away() {
    return not_sent("the server is full: too many requests wait for the store");
}

}  // namespace

StoreQueue::Urgency StoreQueue::urgency_of(std::span<const Request> requests) {
    if (std::ranges::all_of(requests, keeps_or_ends)) return Urgency::keeps_or_ends;
    return std::ranges::any_of(requests, keeps_or_ends) ? Urgency::mixed : Urgency::asks_anew;
}

// Resumes the caller when every request is answered. The count includes the caller itself, which
// may find that all are answered and it need not wait. Lives in the caller's frame.
class StoreQueue::Call {
public:
    Call(const Executor& executor, std::size_t requests)
        : work_{asio::make_work_guard(executor)}, unanswered_{requests + 1} {}

    [[nodiscard]] bool answered() const noexcept { return unanswered_ == 1; }
    void count_down() {
        if (--unanswered_ > 0) return;
        // This object is gone as soon as the caller continues.
        const auto work = std::move(work_);
        Resume resume = *std::move(resume_);
        asio::post(work.get_executor(), std::move(resume));
    }
    void wait(Resume resume) {
        resume_.emplace(std::move(resume));
        count_down();
    }

private:
    asio::executor_work_guard<Executor> work_;
    std::atomic<std::size_t> unanswered_;
    std::optional<Resume> resume_;
};

Task<Outcome> StoreQueue::ask(Request request, Told told) {
    locks_.validate(request);
    const Urgency urgency = urgency_of({&request, 1});
    bool entered = enter_at_once(1, urgency);
    if (!entered) entered = co_await queue_up(1, urgency);
    Outcome outcome;
    const Asked asked{request};
    if (!entered) {
        outcome = turned_away();
    } else {
        const Executor executor = co_await asio::this_coro::executor;
        Call call{executor, 1};
        hand_over(call, {&request, 1}, {&outcome, 1});
        if (!call.answered()) co_await wait_for(call);
        leave(1);
    }
    outcomes_.publish({asked.kind, asked.owner, outcome, told});
    co_return outcome;
}

Task<std::vector<Outcome>> StoreQueue::ask_all(std::vector<Request> requests, Told told) {
    std::vector<Outcome> outcomes(requests.size());
    const std::vector<Asked> asked(requests.begin(), requests.end());
    co_await pass(requests, outcomes);
    for (std::size_t i = 0; i < asked.size(); ++i) {
        outcomes_.publish({asked[i].kind, asked[i].owner, outcomes[i], told});
    }
    co_return outcomes;
}

void StoreQueue::submit(asio::io_context& home, Request request, Told told,
                        std::function<void(Outcome)> reply) {
    locks_.validate(request);
    const Urgency urgency = urgency_of({&request, 1});
    auto send = [this, work = asio::make_work_guard(home), told, request = std::move(request),
                 reply = std::move(reply)]() mutable {
        Asked asked{request};
        outcomes_.sending(request);
        auto answered = [this, work, told, asked = std::move(asked),
                         reply = std::move(reply)](Outcome outcome) {
            asio::post(work.get_executor(),
                       [this, told, asked, reply, outcome = std::move(outcome)]() mutable {
                           leave(1);
                           outcomes_.publish({asked.kind, asked.owner, outcome, told});
                           if (reply) reply(std::move(outcome));
                       });
        };
        locks_.submit(std::move(request), std::move(answered));
    };
    {
        const std::lock_guard lock{mutex_};
        if (!enter(1, urgency)) {
            Queue& queue = urgency == Urgency::keeps_or_ends ? urgent_ : patient_;
            queue.push({.requests = 1, .counted = 0, .enter = std::move(send)});
            return;
        }
    }
    send();
}

Task<std::expected<Time, StoreFault>> StoreQueue::store_time() {
    // Asks for one key that nobody locks, so that the answer is short.
    Request request = Holders{LockKey{"leasehold", "time"}};
    Outcome outcome;
    if (enter_at_once(1, Urgency::keeps_or_ends)) {
        co_await be_answered({&request, 1}, {&outcome, 1});
    } else {
        co_await pass_in_turn({&request, 1}, {&outcome, 1}, Urgency::keeps_or_ends);
    }
    outcomes_.publish({RequestKind::holders, {}, outcome, Told::nobody});
    if (const auto* holders = std::get_if<HolderPage>(&outcome)) co_return holders->store_now;
    const auto* fault = std::get_if<StoreFault>(&outcome);
    co_return std::unexpected{fault != nullptr ? *fault
                                               : StoreFault{StoreFault::Effect::none,
                                                            StoreFault::Cause::internal,
                                                            "the store did not say its time"}};
}

Task<void> StoreQueue::pass(std::span<Request> requests, std::span<Outcome> outcomes) {
    for (const Request& request : requests) locks_.validate(request);
    const Urgency urgency = urgency_of(requests);
    if (enter_at_once(requests.size(), urgency)) {
        co_await be_answered(requests, outcomes);
    } else if (urgency == Urgency::mixed) {
        co_await pass_in_parts(requests, outcomes);
    } else {
        co_await pass_in_turn(requests, outcomes, urgency);
    }
}

Task<void> StoreQueue::pass_in_parts(std::span<Request> requests, std::span<Outcome> outcomes) {
    const std::vector<bool> first = go_first(requests);
    for (const bool part : {true, false}) {
        std::vector<std::size_t> which;
        std::vector<Request> some;
        for (std::size_t i = 0; i < requests.size(); ++i) {
            if (first[i] != part) continue;
            which.push_back(i);
            some.push_back(std::move(requests[i]));
        }
        if (some.empty()) continue;
        std::vector<Outcome> answers(some.size());
        co_await pass_in_turn(some, answers, part ? Urgency::keeps_or_ends : Urgency::asks_anew);
        for (std::size_t i = 0; i < which.size(); ++i) outcomes[which[i]] = std::move(answers[i]);
    }
}

Task<void> StoreQueue::pass_in_turn(std::span<Request> requests, std::span<Outcome> outcomes,
                                    Urgency urgency) {
    const bool entered = co_await queue_up(requests.size(), urgency);
    if (entered) {
        co_await be_answered(requests, outcomes);
    } else {
        std::ranges::generate(outcomes, turned_away);
    }
}

Task<void> StoreQueue::be_answered(std::span<Request> requests, std::span<Outcome> outcomes) {
    const Executor executor = co_await asio::this_coro::executor;
    Call call{executor, requests.size()};
    hand_over(call, requests, outcomes);
    if (!call.answered()) co_await wait_for(call);
    leave(requests.size());
}

StoreQueue::Queues StoreQueue::queues() {
    const std::lock_guard lock{mutex_};
    return {.under_way = under_way_, .keeps = urgent_.requests, .tries = patient_.requests};
}

bool StoreQueue::has_room_for(std::size_t requests) const noexcept {
    return under_way_ == 0 || under_way_ + requests <= options_.requests_under_way;
}

bool StoreQueue::enter_at_once(std::size_t requests, Urgency urgency) {
    const std::lock_guard lock{mutex_};
    return enter(requests, urgency);
}

bool StoreQueue::enter(std::size_t requests, Urgency urgency) {
    const bool first =
        urgent_.line.empty() && (urgency == Urgency::keeps_or_ends || patient_.line.empty());
    if (!first || !has_room_for(requests)) return false;
    under_way_ += requests;
    return true;
}

Task<bool> StoreQueue::queue_up(std::size_t requests, Urgency urgency) {
    auto begin = [&](auto resume) {
        const std::lock_guard lock{mutex_};
        // There may be room by now, and no request left whose leaving would make some.
        if (enter(requests, urgency)) return resume(true);
        Queue& queue = urgency == Urgency::keeps_or_ends ? urgent_ : patient_;
        const bool full = queue.counted > 0 && queue.counted + requests > options_.queued_tries;
        if (full && &queue == &patient_) return resume(false);
        queue.push(
            {.requests = requests, .counted = requests, .enter = [resume] { resume(true); }});
    };
    co_return co_await answer_from<bool>(begin);
}

void StoreQueue::leave(std::size_t requests) {
    std::vector<Queued> next;
    {
        const std::lock_guard lock{mutex_};
        under_way_ -= requests;
        for (;;) {
            Queue& queue = urgent_.line.empty() ? patient_ : urgent_;
            if (queue.line.empty() || !has_room_for(queue.line.front().requests)) break;
            next.push_back(queue.pop());
            under_way_ += next.back().requests;
        }
    }
    for (const Queued& one : next) one.enter();
}

void StoreQueue::hand_over(Call& call, std::span<Request> requests, std::span<Outcome> outcomes) {
    for (std::size_t i = 0; i < requests.size(); ++i) {
        outcomes_.sending(requests[i]);
        locks_.submit(std::move(requests[i]), [&call, &to = outcomes[i]](Outcome outcome) {
            to = std::move(outcome);
            call.count_down();
        });
    }
}

Task<void> StoreQueue::wait_for(Call& call) {
    auto initiate = [&call](Resume resume) { call.wait(std::move(resume)); };
    return asio::async_initiate<const asio::use_awaitable_t<Executor>, void()>(initiate, use_task);
}

}  // namespace leasehold::server
