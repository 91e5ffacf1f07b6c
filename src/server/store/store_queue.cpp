#include "server/store/store_queue.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <optional>
#include <unordered_set>
#include <utility>

#include "server/access/rules.hpp"
#include "server/monitoring/observer.hpp"
#include "server/store/asking.hpp"

namespace leasehold::server {
namespace {

bool keeps_or_ends(const Request& request) {
    return rule_of(request).pace == Pace::keeps;
}

// The keys a request is about; nothing where that cannot be said.
std::optional<std::span<const LockKey>> keys_of(const Request& request) {
    return std::visit(
        []<class R>(const R& r) -> std::optional<std::span<const LockKey>> {
            if constexpr (requires { r.keys; }) {
                return std::span{r.keys};
            } else if constexpr (requires {
                                     r.lock_id;
                                     r.key.has_value();
                                 }) {
                if (!r.key) return std::nullopt;
                return std::span{&*r.key, 1};
            } else if constexpr (requires { r.key.type(); }) {
                return std::span{&r.key, 1};
            } else {
                return std::nullopt;
            }
        },
        request);
}

// Those that keep or end a lease, unless the order matters: they stay behind others before them
// that are, or may be, about the same key.
std::vector<bool> who_goes_first(std::span<const Request> requests) {
    std::vector<bool> first;
    std::unordered_set<LockKey> left_behind;
    bool some_of_any_key = false;
    for (const Request& request : requests) {
        const auto keys = keys_of(request);
        const bool free = keys && !some_of_any_key &&
                          std::ranges::none_of(
                              *keys, [&](const LockKey& key) { return left_behind.contains(key); });
        const bool nobody_before = left_behind.empty() && !some_of_any_key;
        first.push_back(keeps_or_ends(request) && (free || nobody_before));
        if (first.back()) continue;
        if (keys) left_behind.insert(keys->begin(), keys->end());
        some_of_any_key = some_of_any_key || !keys;
    }
    return first;
}

// In whose name a lock is asked for.
std::string asker_of(const Request& request) {
    if (const auto* one = std::get_if<TryLock>(&request)) return one->owner;
    if (const auto* all = std::get_if<TryLockAll>(&request)) return all->owner;
    return {};
}

// Whose holder comes back with this request, where that is known before it is answered.
const LockId* lock_id_in(const Request& request) {
    if (const auto* renewal = std::get_if<Renew>(&request)) return &renewal->lock_id;
    if (const auto* extension = std::get_if<Extend>(&request)) return &extension->lock_id;
    return nullptr;
}

Outcome turned_away() {
    return sent_away("the server is full: too many requests wait for the store");
}

}  // namespace

StoreQueue::Urgency StoreQueue::urgency_of(std::span<const Request> requests) {
    if (std::ranges::all_of(requests, keeps_or_ends)) return Urgency::keeps_or_ends;
    return std::ranges::any_of(requests, keeps_or_ends) ? Urgency::mixed : Urgency::asks_anew;
}

// Resumes when nobody is left to answer. One of those counted is the caller itself, who may find
// that it need not wait at all. Lives where the caller waits.
class StoreQueue::Call {
public:
    Call(const Executor& executor, std::size_t requests)
        : work_{asio::make_work_guard(executor)}, unanswered_{requests + 1} {}

    [[nodiscard]] bool answered() const noexcept { return unanswered_ == 1; }
    void count_down() {
        if (--unanswered_ > 0) return;
        // This is gone as soon as the caller goes on.
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

Task<Outcome> StoreQueue::ask(Request request) {
    locks_.validate(request);
    const Urgency urgency = urgency_of({&request, 1});
    bool entered = enter_at_once(1, urgency);
    if (!entered) entered = co_await queue_up(1, urgency);
    if (!entered) co_return turned_away();
    Outcome outcome;
    const std::string asker = asker_of(request);
    const Executor executor = co_await asio::this_coro::executor;
    Call call{executor, 1};
    hand_over(call, {&request, 1}, {&outcome, 1});
    if (!call.answered()) co_await wait_for(call);
    leave(1);
    tell(request, asker, outcome);
    co_return outcome;
}

Task<std::vector<Outcome>> StoreQueue::ask_all(std::vector<Request> requests) {
    std::vector<Outcome> outcomes(requests.size());
    std::vector<std::string> askers;
    askers.reserve(requests.size());
    std::ranges::transform(requests, std::back_inserter(askers), asker_of);
    co_await pass(requests, outcomes);
    for (std::size_t i = 0; i < requests.size(); ++i) tell(requests[i], askers[i], outcomes[i]);
    co_return outcomes;
}

Task<std::vector<Outcome>> StoreQueue::look_up(std::vector<Request> requests) {
    std::vector<Outcome> outcomes(requests.size());
    co_await pass(requests, outcomes);
    co_return outcomes;
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
    const std::vector<bool> first = who_goes_first(requests);
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

// The request has been moved from, but what kind it was can still be seen.
void StoreQueue::tell(const Request& request, std::string_view asker, const Outcome& outcome) {
    options_.observer->answered(request, outcome);
    statistics_.answered(request, asker, outcome);
    reporter_.answered(request, outcome);
    tell_room(request, outcome);
}

StoreQueue::Queues StoreQueue::queues() {
    const std::lock_guard lock{mutex_};
    return {.under_way = under_way_, .keeps = urgent_.requests, .tries = patient_.requests};
}

void StoreQueue::tell_room(const Request& request, const Outcome& outcome) {
    const auto* lease = std::get_if<Lease>(&outcome);
    if (std::holds_alternative<TryLock>(request)) {
        if (lease != nullptr) delayed_releases_.came_back(lease->lock_id);
    } else if (std::holds_alternative<Release>(request) || std::holds_alternative<Break>(request)) {
        if (lease != nullptr) room_.ended(*lease);
    } else if (std::holds_alternative<ReleaseAll>(request)) {
        const auto* leases = std::get_if<std::vector<Lease>>(&outcome);
        if (leases == nullptr) return;
        for (const Lease& one : *leases) room_.ended(one);
    }
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
        // There may be room by now, and nobody left who would make some later.
        if (enter(requests, urgency)) return resume(true);
        Queue& queue = urgency == Urgency::keeps_or_ends ? urgent_ : patient_;
        const bool full = !queue.line.empty() && queue.requests + requests > options_.queued_tries;
        if (full && &queue == &patient_) return resume(false);
        queue.line.emplace_back(requests, [resume] { resume(true); });
        queue.requests += requests;
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
            next.push_back(std::move(queue.line.front()));
            queue.line.pop_front();
            queue.requests -= next.back().requests;
            under_way_ += next.back().requests;
        }
    }
    for (const Queued& one : next) one.enter();
}

void StoreQueue::hand_over(Call& call, std::span<Request> requests, std::span<Outcome> outcomes) {
    for (std::size_t i = 0; i < requests.size(); ++i) {
        if (const auto* id = lock_id_in(requests[i])) delayed_releases_.came_back(*id);
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
