#include "server/store_door.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <optional>
#include <utility>

#include "server/observer.hpp"

namespace leasehold::server {
namespace {

bool keeps_or_ends(const Request& request) {
    return std::visit(
        []<class R>(const R&) {
            return std::is_same_v<R, Check> || std::is_same_v<R, Extend> ||
                   std::is_same_v<R, Renew> || std::is_same_v<R, Release> ||
                   std::is_same_v<R, ReleaseAll> || std::is_same_v<R, Break>;
        },
        request);
}

// In whose name a lock is asked for.
std::string asker_of(const Request& request) {
    if (const auto* one = std::get_if<TryLock>(&request)) return one->owner;
    if (const auto* all = std::get_if<TryLockAll>(&request)) return all->owner;
    return {};
}

Outcome turned_away() {
    return StoreFault{StoreFault::Effect::none, StoreFault::Cause::unavailable,
                      "the server is full: too many requests wait for the store"};
}

}  // namespace

StoreDoor::Urgency StoreDoor::urgency_of(std::span<const Request> requests) {
    return std::ranges::any_of(requests, keeps_or_ends) ? Urgency::keeps_or_ends
                                                        : Urgency::asks_anew;
}

// Resumes when nobody is left to answer. One of those counted is the caller itself, who may find
// that it need not wait at all. Lives where the caller waits.
class StoreDoor::Call {
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

Task<Outcome> StoreDoor::ask(Request request) {
    locks_.validate(request);
    bool entered = enter_at_once();
    if (!entered) entered = co_await queue_up(urgency_of({&request, 1}));
    if (!entered) co_return turned_away();
    Outcome outcome;
    const std::string asker = asker_of(request);
    const Executor executor = co_await asio::this_coro::executor;
    Call call{executor, 1};
    hand_over(call, {&request, 1}, {&outcome, 1});
    if (!call.answered()) co_await wait_for(call);
    leave();
    tell(request, asker, outcome);
    co_return outcome;
}

Task<bool> StoreDoor::pass(std::span<Request> requests, std::span<Outcome> outcomes) {
    for (const Request& request : requests) locks_.validate(request);
    bool entered = enter_at_once();
    if (!entered) entered = co_await queue_up(urgency_of(requests));
    if (!entered) {
        std::ranges::generate(outcomes, turned_away);
        co_return false;
    }
    const Executor executor = co_await asio::this_coro::executor;
    Call call{executor, requests.size()};
    hand_over(call, requests, outcomes);
    if (!call.answered()) co_await wait_for(call);
    leave();
    co_return true;
}

Task<std::vector<Outcome>> StoreDoor::ask_all(std::vector<Request> requests) {
    std::vector<Outcome> outcomes(requests.size());
    std::vector<std::string> askers;
    askers.reserve(requests.size());
    std::ranges::transform(requests, std::back_inserter(askers), asker_of);
    const bool passed = co_await pass(requests, outcomes);
    if (!passed) co_return outcomes;
    for (std::size_t i = 0; i < requests.size(); ++i) tell(requests[i], askers[i], outcomes[i]);
    co_return outcomes;
}

Task<std::vector<Outcome>> StoreDoor::look_up(std::vector<Request> requests) {
    std::vector<Outcome> outcomes(requests.size());
    (void)co_await pass(requests, outcomes);
    co_return outcomes;
}

// The request has been moved from, but what kind it was can still be seen.
void StoreDoor::tell(const Request& request, std::string_view asker, const Outcome& outcome) {
    options_.observer->answered(request, outcome);
    statistics_.answered(request, asker, outcome);
    reporter_.answered(request, outcome);
    tell_room(request, outcome);
}

StoreDoor::Queues StoreDoor::queues() {
    const std::lock_guard lock{mutex_};
    return {.under_way = under_way_, .keeps = urgent_.size(), .tries = patient_.size()};
}

void StoreDoor::tell_room(const Request& request, const Outcome& outcome) {
    if (std::holds_alternative<TryLock>(request) || std::holds_alternative<Extend>(request) ||
        std::holds_alternative<Renew>(request)) {
        if (const auto* lease = std::get_if<Lease>(&outcome)) partings_.came_back(lease->lock_id);
    } else if (std::holds_alternative<Release>(request) || std::holds_alternative<Break>(request)) {
        if (const auto* lease = std::get_if<Lease>(&outcome)) room_.ended(lease->key);
    } else if (std::holds_alternative<ReleaseAll>(request)) {
        const auto* leases = std::get_if<std::vector<Lease>>(&outcome);
        if (leases == nullptr) return;
        for (const Lease& lease : *leases) room_.ended(lease.key);
    }
}

bool StoreDoor::enter_at_once() {
    const std::lock_guard lock{mutex_};
    if (under_way_ >= options_.requests_under_way) return false;
    ++under_way_;
    return true;
}

Task<bool> StoreDoor::queue_up(Urgency urgency) {
    const Executor executor = co_await asio::this_coro::executor;
    auto initiate = [&](auto handler) {
        auto shared = std::make_shared<decltype(handler)>(std::move(handler));
        auto resume = [shared, work = asio::make_work_guard(executor)](bool entered) {
            asio::post(work.get_executor(), [shared, entered] { std::move (*shared)(entered); });
        };
        std::unique_lock lock{mutex_};
        auto& queue = urgency == Urgency::keeps_or_ends ? urgent_ : patient_;
        if (under_way_ < options_.requests_under_way) {
            ++under_way_;
        } else if (&queue == &urgent_ || queue.size() < options_.queued_tries) {
            queue.emplace_back([resume] { resume(true); });
            return;
        } else {
            lock.unlock();
            resume(false);
            return;
        }
        lock.unlock();
        resume(true);
    };
    co_return co_await asio::async_initiate<const asio::use_awaitable_t<Executor>, void(bool)>(
        initiate, use_task);
}

void StoreDoor::leave() {
    Enter next;
    {
        const std::lock_guard lock{mutex_};
        auto& queue = urgent_.empty() ? patient_ : urgent_;
        if (queue.empty()) {
            --under_way_;
            return;
        }
        next = std::move(queue.front());
        queue.pop_front();
    }
    next();
}

void StoreDoor::hand_over(Call& call, std::span<Request> requests, std::span<Outcome> outcomes) {
    for (std::size_t i = 0; i < requests.size(); ++i) {
        locks_.submit(std::move(requests[i]), [&call, &to = outcomes[i]](Outcome outcome) {
            to = std::move(outcome);
            call.count_down();
        });
    }
}

Task<void> StoreDoor::wait_for(Call& call) {
    auto initiate = [&call](Resume resume) { call.wait(std::move(resume)); };
    co_await asio::async_initiate<const asio::use_awaitable_t<Executor>, void()>(initiate,
                                                                                 use_task);
}

}  // namespace leasehold::server
