#include "server/protocol/backend.hpp"

#include <boost/asio/co_spawn.hpp>

#include <algorithm>
#include <utility>

#include "server/monitoring/observer.hpp"

namespace leasehold::server {
namespace {

void counted_or_failed(const std::exception_ptr& error, const std::optional<HeldCount>&) {
    rethrow(error);
}

Outcome asked_too_often() {
    return not_sent("this token exceeds its request rate; try again in a moment");
}

}  // namespace

Backend::Backend(LockManager& locks, asio::io_context& home, const ServerOptions& options)
    : locks_{locks},
      options_{options},
      access_{options},
      store_{locks, outcomes_, options},
      reporter_{store_, locks.limits(), home, options},
      waiting_room_{store_, outcomes_, home, options},
      delayed_releases_{store_, home, options},
      held_{store_, locks.limits().page_rows, options.leases_counted_every},
      readiness_{store_} {
    outcomes_.subscribe(*options.observer);
    outcomes_.subscribe(statistics_);
    outcomes_.subscribe(reporter_);
    outcomes_.subscribe(delayed_releases_);
    outcomes_.subscribe(waiting_room_);
}

Task<Outcome> Backend::ask(RoutedRequest& request, Request wanted) {
    AccessControl::admit(request.http, wanted);
    if (request.rule.pace == Pace::by_request) (void)access_.pass(request.http, {&wanted, 1});
    return store_.ask(std::move(wanted));
}

Task<std::vector<Outcome>> Backend::ask_all(RoutedRequest& request, std::vector<Request> wanted) {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        try {
            if (request.http.token) sign(wanted[i], *request.http.token);
            locks_.validate(wanted[i]);
        } catch (const BadRequest& bad) {
            throw BatchRefused{{.status = 400, .code = "bad_request", .detail = bad.what()}, {i}};
        }
    }
    AccessControl::admit_all(request.http, wanted);
    const AccessControl::Open open = access_.pass(request.http, wanted);
    std::vector<bool> passed;
    for (const Request& one : wanted) passed.push_back(open.is_for(one));
    std::erase_if(wanted, [&](const Request& one) { return !open.is_for(one); });
    std::vector<Outcome> answers = co_await store_.ask_all(std::move(wanted));
    if (answers.size() == passed.size()) co_return answers;
    std::vector<Outcome> outcomes;
    outcomes.reserve(passed.size());
    auto next = answers.begin();
    for (const bool one : passed) outcomes.push_back(one ? std::move(*next++) : asked_too_often());
    co_return outcomes;
}

Task<Backend::Waited> Backend::wait(RoutedRequest& request, TryLock wanted, Duration patience) {
    Request question = std::move(wanted);
    AccessControl::admit(request.http, question);
    locks_.validate(question);
    const Statistics::Waiting waiting{statistics_};
    request.waited = true;
    std::function<bool()> welcome;
    if (request.http.token) {
        welcome = [this, &request, &question] {
            return access_.admits(*request.http.token, question);
        };
    }
    auto asked = std::get<TryLock>(question);
    Outcome outcome = co_await waiting_room_.wait(std::move(asked), patience, request.connection,
                                                  std::move(welcome));
    admit_after_wait(request, question, outcome);
    Waited waited{.outcome = std::move(outcome)};
    if (const auto* lease = std::get_if<Lease>(&waited.outcome)) {
        waited.if_unsent = [this, tried = std::get<TryLock>(question), granted = *lease] {
            waiting_room_.give_back_unknown(tried, granted);
        };
    }
    co_return waited;
}

void Backend::admit_after_wait(RoutedRequest& request, Request& wanted, const Outcome& outcome) {
    const auto* fault = std::get_if<StoreFault>(&outcome);
    if (fault != nullptr && fault->effect() == StoreFault::Effect::unknown) return;
    try {
        access_.admit_again(request.http, request.rule.need, request.scheme);
        AccessControl::admit(request.http, wanted);
    } catch (const Refused&) {
        const auto* lease = std::get_if<Lease>(&outcome);
        if (lease != nullptr) {
            waiting_room_.give_back_unknown(std::get<TryLock>(wanted), *lease);
        }
        throw;
    }
}

Task<Outcome> Backend::release_later(RoutedRequest& request, LockKey key, LockId lock_id,
                                     std::chrono::milliseconds delay) {
    Request question = Check{key, lock_id};
    delayed_releases_.announce(key, lock_id);
    Outcome outcome = co_await ask(request, std::move(question));
    if (const auto* lease = std::get_if<Lease>(&outcome)) {
        delayed_releases_.end_later(*lease, delay);
    } else {
        delayed_releases_.came_back(lock_id);
    }
    co_return outcome;
}

Task<std::expected<HolderPage, StoreFault>> Backend::knock(RoutedRequest& request, LockKey key,
                                                           Knock knock) {
    AccessControl::admit(request.http, knock.by);
    // The server asks for itself: a client may knock that may not see the holders' leases.
    Request question = Holders{key};
    Outcome outcome = co_await store_.ask(std::move(question), Told::nobody);
    if (const auto* fault = std::get_if<StoreFault>(&outcome)) co_return std::unexpected{*fault};
    auto* const holders = std::get_if<HolderPage>(&outcome);
    if (holders == nullptr || holders->empty()) co_return HolderPage{};
    knock.at = holders->store_now;
    if (const auto pause = knocks_.add(key, holders->items, knock)) {
        throw Refused{too_often("the holder has just been asked: wait a moment", *pause)};
    }
    for (const Holder& holder : *holders) {
        reporter_.knocked({.kind = Event::Kind::knocked,
                           .lease = holder,
                           .store_now = knock.at,
                           .by = knock.by,
                           .why = knock.message});
    }
    co_return std::move(*holders);
}

Task<Reporter::Opened> Backend::listen(RoutedRequest& request, EventFilter filter,
                                       std::optional<std::string> last_id,
                                       const EventFormat& format) {
    std::function<bool()> welcome;
    if (const auto token = request.http.token) {
        welcome = [this, token] { return access_.admits(*token, Need::see); };
    }
    auto opened =
        co_await reporter_.open(std::move(filter), std::move(last_id), std::move(welcome), format);
    // The tokens may have changed before the stream was opened.
    if (opened) access_.admit_again(request.http, Need::see, request.scheme);
    co_return opened;
}

Task<Levels> Backend::levels() {
    const auto held = co_await count_leases();
    const StoreQueue::Queues queues = store_.queues();
    co_return Levels{.requests = under_way_,
                     .with_store = queues.under_way,
                     .queued_keeps = queues.keeps,
                     .queued_tries = queues.tries,
                     .waiters = waiting_room_.waiting(),
                     .lines = waiting_room_.lines(),
                     .listeners = reporter_.listeners(),
                     .held = held,
                     .store = locks_.status()};
}

Task<std::optional<HeldCount>> Backend::count_leases() {
    const auto held = co_await held_.count();
    if (held) statistics_.counted_held(held->leases);
    co_return held;
}

void Backend::count_leases_if_due(const Executor& executor) {
    if (statistics_.count_is_due()) asio::co_spawn(executor, count_leases(), counted_or_failed);
}

void Backend::use(std::shared_ptr<const Tokens> tokens) {
    access_.use(std::move(tokens));
    reporter_.end_unwelcome();
    waiting_room_.send_away_unwelcome();
}

void Backend::close() {
    waiting_room_.close();
    delayed_releases_.close();
    reporter_.close();
}

}  // namespace leasehold::server
