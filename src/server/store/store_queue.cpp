#include "server/store/store_queue.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <new>
#include <numeric>
#include <optional>
#include <thread>
#include <unordered_set>
#include <utility>

#include "core/out_of_memory.hpp"
#include "core/release_in_parts.hpp"
#include "core/request_traits.hpp"

namespace leasehold::server {
namespace {

// The id of the token that the client has shown. The client itself may have written the text behind
// the slash (see sign()), so no turn depends on it.
std::string_view own_token(std::string_view token_id) {
    return token_id.substr(0, token_id.find('/'));
}

// Which requests of a batch go first: requests that keep or end a lease, unless an earlier request
// that does not go first concerns, or may concern, the same key.
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
        first.push_back(keeps_or_ends_leases(request) && (free || all_before_go_first));
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
        if (const std::string* const named = ended_by(request)) by = *named;
        const auto* const all = std::get_if<ReleaseAll>(&request);
        if (all != nullptr && !all->key) release_all = *all;
    }
    [[nodiscard]] Answered answered(const Outcome& outcome, Recipient recipient) const {
        return {.kind = kind, .owner = owner, .outcome = outcome, .recipient = recipient, .by = by};
    }

    RequestKind kind;
    std::string owner{};
    std::string by{};
    std::optional<ReleaseAll> release_all{};  // to be repeated in parts, if need be
};

Outcome turned_away() {
    return not_sent("the server is full: too many requests wait for the store");
}

}  // namespace

StoreQueue::Urgency StoreQueue::urgency_of(std::span<const Request> requests) {
    if (std::ranges::all_of(requests, keeps_or_ends_leases)) return Urgency::keeps_or_ends;
    return std::ranges::any_of(requests, keeps_or_ends_leases) ? Urgency::mixed
                                                               : Urgency::asks_anew;
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
        do_for_certain([&] {
            asio::post(work.get_executor(), [this] {
                Resume resume = *std::move(resume_);
                std::move(resume)();
            });
        });
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

Task<Outcome> StoreQueue::ask(Request request, Recipient recipient, std::string_view client) {
    locks_.validate(request);
    const Urgency urgency = urgency_of({&request, 1});
    const Load load = load_of({&request, 1});
    bool entered = enter_at_once(load, urgency, client);
    if (!entered) entered = co_await queue_up(load, urgency, client);
    Outcome outcome;
    const Asked asked{request};
    if (!entered) {
        outcome = turned_away();
    } else {
        co_await be_answered({&request, 1}, {&outcome, 1}, load);
    }
    if (asked.release_all && ReleaseInParts::is_needed(outcome)) {
        ReleaseAll all = *asked.release_all;
        Outcome whole = co_await release_in_parts(std::move(all), client);
        co_return whole;
    }
    outcomes_.publish(asked.answered(outcome, recipient));
    co_return outcome;
}

Task<std::vector<Outcome>> StoreQueue::ask_all(std::vector<Request> requests,
                                               AnswerAllowance& allowance, Recipient recipient,
                                               std::string_view client) {
    for (const Request& request : requests) locks_.validate(request);
    const std::vector<Asked> asked(requests.begin(), requests.end());
    std::vector<Outcome> outcomes(requests.size());
    for (std::vector<std::size_t>& part : parts_of(requests)) {
        if (allowance.is_used_up()) {
            std::erase_if(part, [&](std::size_t index) {
                if (!asks_for_rows(asked[index].kind)) return false;
                outcomes[index] = AnswerAllowance::not_answered();
                return true;
            });
        }
        std::vector<Request> some;
        some.reserve(part.size());
        for (const std::size_t index : part) some.push_back(std::move(requests[index]));
        std::vector<Outcome> answers(some.size());
        co_await pass(some, answers, client);
        for (std::size_t i = 0; i < part.size(); ++i) {
            const Asked& one = asked[part[i]];
            if (one.release_all && ReleaseInParts::is_needed(answers[i])) {
                ReleaseAll all = *one.release_all;
                Outcome whole = co_await release_in_parts(std::move(all), client);
                answers[i] = std::move(whole);
            } else {
                outcomes_.publish(one.answered(answers[i], recipient));
            }
            allowance.charge(answers[i]);
            outcomes[part[i]] = std::move(answers[i]);
        }
    }
    co_return outcomes;
}

Task<Outcome> StoreQueue::release_in_parts(ReleaseAll all, std::string_view client) {
    ReleaseInParts parts{std::move(all), locks_.limits()};
    AnswerAllowance unlimited;
    while (!parts.is_done()) {
        Request question = parts.next_page();
        Outcome page = co_await ask(std::move(question), Recipient::nobody, client);
        std::vector<Request> requests = parts.releases_of(std::move(page));
        std::vector<Outcome> outcomes =
            co_await ask_all(std::move(requests), unlimited, Recipient::nobody, client);
        for (Outcome& outcome : outcomes) parts.collect(std::move(outcome));
    }
    co_return std::move(parts).outcome();
}

std::vector<std::vector<std::size_t>> StoreQueue::parts_of(
    std::span<const Request> requests) const {
    const std::size_t most = locks_.limits().batch_requests;
    std::vector<std::size_t> order(requests.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (load_of(requests).weight > most && urgency_of(requests) == Urgency::mixed) {
        const std::vector<bool> first = go_first(requests);
        std::vector<std::size_t> rest = order;
        std::erase_if(order, [&](std::size_t index) { return !first[index]; });
        std::erase_if(rest, [&](std::size_t index) { return first[index]; });
        order.insert(order.end(), rest.begin(), rest.end());
    }
    std::vector<std::vector<std::size_t>> parts;
    std::size_t weight = 0;
    for (const std::size_t index : order) {
        const std::size_t more = weight_of(requests[index]);
        if (parts.empty() || weight + more > most) {
            parts.emplace_back();
            weight = 0;
        }
        parts.back().push_back(index);
        weight += more;
    }
    return parts;
}

// A request of one of the server's own parts. Once it is made, it is answered for certain.
struct StoreQueue::Submission {
    Request request;
    Asked asked;
    Load load;
    Recipient recipient;
    std::function<void(Outcome)> reply;
    asio::executor_work_guard<Executor> work;
    Outcome outcome{};
};

void StoreQueue::submit(asio::io_context& home, Request request, Recipient recipient,
                        std::function<void(Outcome)> reply) {
    locks_.validate(request);
    const Urgency urgency = urgency_of({&request, 1});
    const Load load = load_of({&request, 1});
    Asked asked{request};
    auto submission =
        std::make_shared<Submission>(std::move(request), std::move(asked), load, recipient,
                                     std::move(reply), asio::make_work_guard(home));
    std::function<void()> send_it = [this, submission] { send(submission); };
    {
        const auto* wanted = std::get_if<TryLock>(&submission->request);
        const std::string_view client = wanted != nullptr ? own_token(wanted->token_id) : "";
        const std::lock_guard lock{mutex_};
        if (!enter(load, urgency, client)) {
            queue({.load = load, .counted = 0, .enter = std::move(send_it)}, urgency, client);
            return;
        }
    }
    send(submission);
}

void StoreQueue::send(const std::shared_ptr<Submission>& submission) {
    outcomes_.sending(submission->request);
    try {
        locks_.submit(std::move(submission->request), [this, submission](Outcome outcome) {
            submission->outcome = std::move(outcome);
            reply_to(submission);
        });
    } catch (const std::bad_alloc&) {
        submission->outcome = out_of_memory(StoreFault::Effect::none);
        reply_to(submission);
    }
}

void StoreQueue::reply_to(const std::shared_ptr<Submission>& submission) {
    do_for_certain([&] {
        asio::post(submission->work.get_executor(), [this, submission] {
            leave(submission->load);
            outcomes_.publish(
                submission->asked.answered(submission->outcome, submission->recipient));
            submission->work.reset();
            if (submission->reply) submission->reply(std::move(submission->outcome));
        });
    });
}

Task<std::expected<Time, StoreFault>> StoreQueue::store_time(std::string_view client) {
    // Asks for one key that nobody locks, so that the answer is short.
    Request request = Holders{LockKey{"leasehold", "time"}};
    constexpr Load one_plain_request{.requests = 1, .weight = 1};
    Outcome outcome;
    if (enter_at_once(one_plain_request, Urgency::keeps_or_ends, client)) {
        co_await be_answered({&request, 1}, {&outcome, 1}, one_plain_request);
    } else {
        co_await pass_in_turn({&request, 1}, {&outcome, 1}, Urgency::keeps_or_ends, client);
    }
    outcomes_.publish({RequestKind::holders, {}, outcome, Recipient::nobody});
    if (const auto* holders = std::get_if<HolderPage>(&outcome)) co_return holders->store_now;
    const auto* fault = std::get_if<StoreFault>(&outcome);
    co_return std::unexpected{fault != nullptr ? *fault
                                               : StoreFault{StoreFault::Effect::none,
                                                            StoreFault::Cause::internal,
                                                            "the store did not say its time"}};
}

Task<void> StoreQueue::pass(std::span<Request> requests, std::span<Outcome> outcomes,
                            std::string_view client) {
    const Urgency urgency = urgency_of(requests);
    const Load load = load_of(requests);
    if (enter_at_once(load, urgency, client)) {
        co_await be_answered(requests, outcomes, load);
    } else if (urgency == Urgency::mixed) {
        co_await pass_by_pace(requests, outcomes, client);
    } else {
        co_await pass_in_turn(requests, outcomes, urgency, client);
    }
}

Task<void> StoreQueue::pass_by_pace(std::span<Request> requests, std::span<Outcome> outcomes,
                                    std::string_view client) {
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
        co_await pass_in_turn(some, answers, part ? Urgency::keeps_or_ends : Urgency::asks_anew,
                              client);
        for (std::size_t i = 0; i < which.size(); ++i) outcomes[which[i]] = std::move(answers[i]);
    }
}

Task<void> StoreQueue::pass_in_turn(std::span<Request> requests, std::span<Outcome> outcomes,
                                    Urgency urgency, std::string_view client) {
    const Load load = load_of(requests);
    const bool entered = co_await queue_up(load, urgency, client);
    if (entered) {
        co_await be_answered(requests, outcomes, load);
    } else {
        std::ranges::generate(outcomes, turned_away);
    }
}

Task<void> StoreQueue::be_answered(std::span<Request> requests, std::span<Outcome> outcomes,
                                   Load load) {
    const Executor executor = co_await asio::this_coro::executor;
    Call call{executor, requests.size()};
    hand_over(call, requests, outcomes);
    // The store's answers go to the caller's frame, which must stay until then.
    for (bool waited = false; !waited && !call.answered();) {
        try {
            co_await wait_for(call);
            waited = true;
        } catch (const std::bad_alloc&) {
            std::this_thread::yield();
        }
    }
    leave(load);
}

void StoreQueue::Queue::push(std::string_view client, Queued queued) {
    const Load load = queued.load;
    const std::size_t counted = queued.counted;
    // Without memory nothing has changed.
    if (const auto found = by_client_.find(client); found != by_client_.end()) {
        found->second->queued.push_back(std::move(queued));
        found->second->counted += counted;
    } else {
        Lines made;
        Line& line = made.emplace_back(Line{.client = std::string{client}});
        line.queued.push_back(std::move(queued));
        line.counted = counted;
        by_client_.emplace(line.client, made.begin());
        lines_.splice(lines_.end(), made);
    }
    requests_ += load.requests;
    counted_ += counted;
}

StoreQueue::Queued StoreQueue::Queue::pop(bool rests) {
    Line& line = lines_.front();
    Queued first = std::move(line.queued.front());
    line.queued.pop_front();
    requests_ -= first.load.requests;
    counted_ -= first.counted;
    line.counted -= first.counted;
    if (line.queued.empty()) {
        by_client_.erase(line.client);
        lines_.pop_front();
    } else {
        Lines& to = rests ? resting_ : lines_;
        line.rests = rests;
        to.splice(to.end(), lines_, lines_.begin());
    }
    return first;
}

void StoreQueue::Queue::rest(std::string_view client) noexcept {
    const auto at = by_client_.find(client);
    if (at == by_client_.end() || std::exchange(at->second->rests, true)) return;
    resting_.splice(resting_.end(), lines_, at->second);
}

void StoreQueue::Queue::end_rests() noexcept {
    for (Line& line : resting_) line.rests = false;
    lines_.splice(lines_.end(), resting_);
}

void StoreQueue::Queue::put_off(const std::function<bool(std::string_view)>& which) {
    for (std::size_t i = 0; i < lines_.size() && which(client()); ++i) {
        lines_.splice(lines_.end(), lines_, lines_.begin());
    }
}

bool StoreQueue::Queue::has_place(std::string_view client, std::size_t requests,
                                  std::size_t most) const {
    if (counted_ == 0) return true;  // a batch larger than all places
    if (counted_ + requests > most) return false;
    const auto line = by_client_.find(client);
    const std::size_t own = line == by_client_.end() ? 0 : line->second->counted;
    if (client.empty() || own + requests == 1) return true;
    return own + requests <= most - counted_ - requests;
}

StoreQueue::Queues StoreQueue::queues() {
    const std::lock_guard lock{mutex_};
    return {.under_way = under_way_.requests,
            .keeps = urgent_.requests(),
            .tries = patient_.requests()};
}

StoreQueue::Load StoreQueue::load_of(std::span<const Request> requests) {
    Load load{.requests = requests.size()};
    for (const Request& request : requests) load.weight += weight_of(request);
    return load;
}

bool StoreQueue::has_room_for(Load load) const noexcept {
    return under_way_.requests == 0 ||
           under_way_.weight + load.weight <= options_.requests_under_way;
}

bool StoreQueue::is_turn_of_patient() const noexcept {
    constexpr std::size_t rooms_before = 4;
    return !patient_.empty() && urgent_weight_ >= rooms_before * options_.requests_under_way;
}

bool StoreQueue::rests(std::string_view client) const {
    const auto weight = urgent_weight_of_.find(client);
    return weight != urgent_weight_of_.end() && weight->second >= locks_.limits().batch_requests;
}

void StoreQueue::note_urgent(std::string_view client, Load load) noexcept try {
    if (patient_.empty()) return;
    urgent_weight_ += load.weight;
    auto weight = urgent_weight_of_.find(client);
    if (weight == urgent_weight_of_.end()) weight = urgent_weight_of_.emplace(client, 0).first;
    weight->second += load.weight;
} catch (const std::bad_alloc&) {
    // The client may have more than its part once.
}

bool StoreQueue::enter_at_once(Load load, Urgency urgency, std::string_view client) {
    const std::lock_guard lock{mutex_};
    return enter(load, urgency, client);
}

bool StoreQueue::enter(Load load, Urgency urgency, std::string_view client) {
    const bool is_urgent = urgency == Urgency::keeps_or_ends;
    const bool first =
        urgent_.empty() && (is_urgent ? !is_turn_of_patient() && !rests(client) : patient_.empty());
    if (!first || !has_room_for(load)) return false;
    if (is_urgent) note_urgent(client, load);
    under_way_ += load;
    return true;
}

void StoreQueue::queue(Queued queued, Urgency urgency, std::string_view client) {
    const bool is_urgent = urgency == Urgency::keeps_or_ends;
    (is_urgent ? urgent_ : patient_).push(client, std::move(queued));
    if (is_urgent && rests(client)) urgent_.rest(client);
}

Task<bool> StoreQueue::queue_up(Load load, Urgency urgency, std::string_view client) {
    auto begin = [&](auto resume) {
        const std::lock_guard lock{mutex_};
        // There may be room by now, and no request left whose leaving would make some.
        if (enter(load, urgency, client)) return resume(true);
        if (urgency != Urgency::keeps_or_ends &&
            !patient_.has_place(client, load.requests, options_.queued_tries)) {
            return resume(false);
        }
        queue({.load = load, .counted = load.requests, .enter = [resume] { resume(true); }},
              urgency, client);
    };
    co_return co_await answer_from<bool>(begin);
}

void StoreQueue::leave(Load load) {
    {
        const std::lock_guard lock{mutex_};
        under_way_ -= load;
    }
    while (const auto next = next_to_enter()) next->enter();
}

std::optional<StoreQueue::Queued> StoreQueue::next_to_enter() {
    const std::lock_guard lock{mutex_};
    const bool is_urgent = !urgent_.empty() && !is_turn_of_patient();
    Queue& queue = is_urgent ? urgent_ : patient_;
    if (!is_urgent) patient_.put_off([this](std::string_view client) { return rests(client); });
    if (queue.empty() || !has_room_for(queue.front().load)) return std::nullopt;
    if (is_urgent) note_urgent(queue.client(), queue.front().load);
    Queued first = queue.pop(is_urgent && rests(queue.client()));
    if (!is_urgent) {
        urgent_weight_ = 0;
        urgent_weight_of_.clear();
        urgent_.end_rests();
    }
    under_way_ += first.load;
    return first;
}

void StoreQueue::hand_over(Call& call, std::span<Request> requests, std::span<Outcome> outcomes) {
    for (std::size_t i = 0; i < requests.size(); ++i) {
        outcomes_.sending(requests[i]);
        try {
            locks_.submit(std::move(requests[i]), [&call, &to = outcomes[i]](Outcome outcome) {
                to = std::move(outcome);
                call.count_down();
            });
        } catch (const std::bad_alloc&) {
            outcomes[i] = out_of_memory(StoreFault::Effect::none);
            call.count_down();
        }
    }
}

Task<void> StoreQueue::wait_for(Call& call) {
    auto initiate = [&call](Resume resume) { call.wait(std::move(resume)); };
    return asio::async_initiate<const asio::use_awaitable_t<Executor>, void()>(initiate, use_task);
}

}  // namespace leasehold::server
