#include "server/protocol/backend.hpp"

#include <boost/asio/co_spawn.hpp>

#include <algorithm>
#include <utility>

#include "server/http/phrases.hpp"
#include "server/monitoring/observer.hpp"
#include "server/protocol/audited.hpp"

namespace leasehold::server {
namespace {

void counted_or_failed(const std::exception_ptr& error, const std::optional<HeldCount>&) {
    rethrow(error);
}

const KeySet& visible_to(const HttpRequest& request) {
    return visible_keys(request.token.get());
}

// Whether the answer may have rows that the client must not see.
bool is_limited(const HttpRequest& request, const Request& wanted) {
    return lists_many_keys(wanted) && !visible_to(request).has_every_key();
}

Outcome asked_too_often() {
    return not_sent("this token exceeds its request rate; try again in a moment");
}

// The outcome of a request of a batch that a quota does not allow.
Outcome not_allowed(const Problem& problem) {
    return StoreFault{StoreFault::Effect::none, StoreFault::Cause::unavailable,
                      problem.detail.in(Language::english)};
}

template <class T>
T or_refuse(std::expected<T, Problem> result) {
    if (!result) throw Refused{std::move(result.error())};
    return *std::move(result);
}

// A request of a batch that goes to the store.
struct Sent {
    std::size_t index;  // in the batch
    RequestKind kind;
    std::optional<Quotas::Reservation> reservation{};
};

// Refuses a knock that comes too early.
void refuse_until(std::optional<Knocks::Clock::duration> pause) {
    if (!pause) return;
    throw Refused{too_often(phrases::just_asked, *pause)};
}

// A client does not wait longer than its token lives. The wait ends a moment later, so that the
// token has expired then.
Duration patience_of(const HttpRequest& request, Duration patience) {
    if (!request.token || !request.token->expires) return patience;
    constexpr std::chrono::milliseconds later{10};
    return std::min<Duration>(patience, time_left(*request.token) + later);
}

}  // namespace

Backend::Backend(LockManager& locks, asio::io_context& home, const ServerOptions& options)
    : locks_{locks},
      options_{options},
      access_{options},
      quotas_{options},
      store_{locks, outcomes_, options},
      reporter_{store_, locks.limits(), home, options},
      waiting_room_{store_, outcomes_, home, options, [&locks] { return locks.open_watch(); }},
      delayed_releases_{store_, home, options},
      held_{store_, locks.limits().page_rows, options.leases_counted_every},
      readiness_{store_} {
    outcomes_.subscribe(*options.observer);
    if (options.tokens) outcomes_.subscribe(quotas_);
    outcomes_.subscribe(statistics_);
    outcomes_.subscribe(reporter_);
    outcomes_.subscribe(delayed_releases_);
    outcomes_.subscribe(waiting_room_);
}

Task<Outcome> Backend::ask(RoutedRequest& request, Request wanted) {
    AccessControl::admit(request.http, wanted);
    if (request.rule.pace == Pace::by_request) (void)access_.pass(request.http, {&wanted, 1});
    request.asked_store = request.asked_store || !only_reads(kind_of(wanted));
    const RequestKind kind = kind_of(wanted);
    if (request.http.token && (takes(kind) || prolongs(kind))) {
        return ask_within_quotas(request.http.token, std::move(wanted));
    }
    if (options_.audit != nullptr && is_audited(wanted)) {
        return ask_audited(request, std::move(wanted));
    }
    if (is_limited(request.http, wanted)) return ask_limited(request, std::move(wanted));
    return store_.ask(std::move(wanted), Recipient::client, id_of(request.http.token.get()));
}

Task<std::expected<Time, StoreFault>> Backend::store_time(RoutedRequest& request) {
    return store_.store_time(id_of(request.http.token.get()));
}

Task<Outcome> Backend::ask_within_quotas(std::shared_ptr<const Token> token, Request wanted) {
    if (prolongs(kind_of(wanted))) {
        Outcome outcome = co_await store_.ask(std::move(wanted), Recipient::client, id_of(*token));
        if (const auto* lease = std::get_if<Lease>(&outcome)) quotas_.prolonged(*token, *lease);
        co_return outcome;
    }
    Quotas::Reservation reservation = or_refuse(quotas_.reserve(*token, wanted));
    Outcome outcome = co_await store_.ask(std::move(wanted), Recipient::client, id_of(*token));
    reservation.settle(outcome);
    co_return outcome;
}

Task<Outcome> Backend::ask_audited(RoutedRequest& request, Request wanted) {
    const Request asked = wanted;
    const std::shared_ptr<const Token> token = request.http.token;
    Outcome outcome = co_await store_.ask(std::move(wanted), Recipient::client, id_of(token.get()));
    audit(request, asked, outcome);
    co_return outcome;
}

void Backend::audit(RoutedRequest& request, const Request& asked, const Outcome& outcome) const {
    AuditEvent event = event_of(name_of(kind_of(asked)), outcome_name(outcome), request.http,
                                request.connection, *options_.audit);
    event.changed_leases = changed_leases(outcome);
    event.by_administrator = is_by_administrator(asked, request.http.token.get());
    event.facts = facts_of(asked, outcome);
    options_.audit->record(std::move(event));
}

Task<Outcome> Backend::ask_limited(RoutedRequest& request, Request wanted) {
    locks_.validate(wanted);
    const std::shared_ptr<const Token> token = request.http.token;
    LimitedView view{store_, visible_to(request.http), limits().page_rows, id_of(token.get())};
    Outcome outcome = co_await view.ask(std::move(wanted));
    co_return outcome;
}

Task<PastPage> Backend::history(RoutedRequest& request, History wanted) {
    const std::size_t limit = wanted.limit;
    Request question = std::move(wanted);
    if (is_limited(request.http, question)) {
        AccessControl::admit(request.http, question);
        locks_.validate(question);
        LimitedView view{store_, visible_to(request.http), limits().page_rows,
                         id_of(request.http.token.get())};
        PastPage page = co_await view.history(std::move(std::get<History>(question)));
        co_return page;
    }
    Outcome outcome = co_await ask(request, std::move(question));
    PastPage page{.outcome = std::move(outcome)};
    const auto* const rows = std::get_if<HistoryPage>(&page.outcome);
    if (rows != nullptr && rows->may_continue(limit)) page.next = rows->last().sequence;
    co_return page;
}

Task<std::vector<Outcome>> Backend::ask_all(RoutedRequest& request, std::vector<Request> wanted,
                                            std::size_t rows_bytes) {
    const std::shared_ptr<const Token> token = request.http.token;
    AnswerAllowance allowance{rows_bytes};
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        try {
            if (token) sign(wanted[i], *token);
            locks_.validate(wanted[i]);
        } catch (const BadRequest& bad) {
            throw BatchRefused{{.status = 400, .code = "bad_request", .detail = bad.what()}, {i}};
        }
    }
    AccessControl::admit_all(request.http, wanted);
    const std::vector<bool> passed = access_.pass(request.http, wanted);
    std::vector<std::pair<std::size_t, Request>> audited;
    for (std::size_t i = 0; options_.audit != nullptr && i < wanted.size(); ++i) {
        if (passed[i] && is_audited(wanted[i])) audited.emplace_back(i, wanted[i]);
    }
    request.asked_store = true;
    if (!token) {
        std::vector<Outcome> outcomes = co_await store_.ask_all(std::move(wanted), allowance);
        for (const auto& [index, asked] : audited) audit(request, asked, outcomes[index]);
        co_return outcomes;
    }

    std::vector<Outcome> outcomes(wanted.size());
    std::vector<Sent> sent;
    std::vector<Request> allowed;
    std::vector<std::size_t> limited;  // lists of which the client may not see every row
    std::optional<Problem> exceeded;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (!passed[i]) {
            outcomes[i] = asked_too_often();
            ++request.http.refused_in_batch;
            continue;
        }
        if (is_limited(request.http, wanted[i])) {
            limited.push_back(i);
            continue;
        }
        Sent one{.index = i, .kind = kind_of(wanted[i])};
        if (takes(one.kind)) {
            auto reservation = quotas_.reserve(*token, wanted[i]);
            if (!reservation) {
                outcomes[i] = not_allowed(reservation.error());
                ++request.http.refused_in_batch;
                if (!exceeded) exceeded = std::move(reservation.error());
                continue;
            }
            one.reservation.emplace(*std::move(reservation));
        }
        sent.push_back(std::move(one));
        allowed.push_back(std::move(wanted[i]));
    }
    if (sent.empty() && limited.empty() && exceeded) throw Refused{*std::move(exceeded)};

    std::vector<Outcome> answers =
        co_await store_.ask_all(std::move(allowed), allowance, Recipient::client, id_of(*token));
    for (std::size_t i = 0; i < sent.size(); ++i) {
        const auto* const lease = std::get_if<Lease>(&answers[i]);
        if (sent[i].reservation) sent[i].reservation->settle(answers[i]);
        if (lease != nullptr && prolongs(sent[i].kind)) quotas_.prolonged(*token, *lease);
        outcomes[sent[i].index] = std::move(answers[i]);
    }
    LimitedView view{store_, visible_keys(token.get()), limits().page_rows, id_of(*token)};
    for (const std::size_t i : limited) {
        Outcome outcome = AnswerAllowance::not_answered();
        if (!allowance.is_used_up()) outcome = co_await view.ask(std::move(wanted[i]));
        allowance.charge(outcome);
        outcomes[i] = std::move(outcome);
    }
    for (const auto& [index, asked] : audited) audit(request, asked, outcomes[index]);
    co_return outcomes;
}

MemoryBudget::Share Backend::reserve_batch(RoutedRequest& request, std::size_t requests) {
    // A request and its outcome, with long texts.
    constexpr std::size_t bytes_each = 4 * 1024;
    const auto& token = request.http.token;
    MemoryBudget::Share share;
    if (requests * bytes_each <= MemoryBudget::small_bytes) return share;
    switch (share.reserve(batches_, id_of(token.get()), requests * bytes_each)) {
        case MemoryBudget::Room::enough: break;
        case MemoryBudget::Room::token_has_too_much:
            throw Refused{too_often({phrases::large_batches_of_token, {{"token", token->name}}},
                                    std::chrono::seconds{1})};
        case MemoryBudget::Room::too_little: throw Refused{overloaded(phrases::large_batches)};
    }
    return share;
}

bool Backend::try_to_reserve_answer(RoutedRequest& request, std::size_t bytes) {
    const std::string& client = id_of(request.http.token.get());
    return request.http.answer_share.reserve(unsent_answers_, client, bytes) ==
           MemoryBudget::Room::enough;
}

void Backend::reserve_answer(RoutedRequest& request, std::size_t bytes) {
    const auto& token = request.http.token;
    switch (request.http.answer_share.reserve(unsent_answers_, id_of(token.get()), bytes)) {
        case MemoryBudget::Room::enough: return;
        case MemoryBudget::Room::token_has_too_much:
            throw Refused{too_often({phrases::large_answers_of_token, {{"token", token->name}}},
                                    std::chrono::seconds{1})};
        case MemoryBudget::Room::too_little: throw Refused{overloaded(phrases::large_answers)};
    }
}

Task<std::vector<std::string>> Backend::waiting_owners(RoutedRequest& request, const LockKey& key) {
    AccessControl::admit(request.http, Need::see, key);
    return waiting_room_.line_for(key);
}

Task<std::vector<std::size_t>> Backend::waiting_for(RoutedRequest& request,
                                                    std::vector<LockKey> keys) {
    for (const LockKey& key : keys) AccessControl::admit(request.http, Need::see, key);
    return waiting_room_.waiting_for(std::move(keys));
}

Task<Statistics::Summary> Backend::statistics(RoutedRequest& request, Statistics::Span over) {
    const KeySet& visible = visible_to(request.http);
    Statistics::Summary summary = statistics_.summary(over, visible);
    if (!visible.has_every_key()) summary.waiting = co_await waiting_room_.waiting_for(visible);
    co_return summary;
}

std::vector<RefusedTries::Entry> Backend::refused_tries(RoutedRequest& request,
                                                        const std::optional<LockKey>& key,
                                                        std::size_t most) {
    if (key) AccessControl::admit(request.http, Need::see, *key);
    return statistics_.refused(key, visible_to(request.http), most);
}

Task<Backend::Waited> Backend::wait(RoutedRequest& request, TryLock wanted, Duration patience) {
    Request question = std::move(wanted);
    AccessControl::admit(request.http, question);
    locks_.validate(question);
    Quotas::Place place;
    std::optional<Quotas::Reservation> reservation;
    std::function<bool()> still_allowed;
    std::string name;
    if (const auto& token = request.http.token) {
        name = token->name;
        place = or_refuse(quotas_.enter(*token, Quota::waiters, std::get<TryLock>(question).owner));
        reservation.emplace(or_refuse(quotas_.reserve(*token, question)));
        still_allowed = [this, &request, &question] {
            return access_.admits(*request.http.token, question);
        };
    }
    const Statistics::Waiting waiting{statistics_};
    request.waited = true;
    request.asked_store = true;
    auto asked = std::get<TryLock>(question);
    Outcome outcome =
        co_await waiting_room_.wait(std::move(asked), name, patience_of(request.http, patience),
                                    request.connection, std::move(still_allowed));
    place.reset();
    if (reservation) reservation->settle(outcome, Quotas::Reservation::Faults::may_follow_a_grant);
    admit_after_wait(request, question, outcome, name);
    Waited waited{.outcome = std::move(outcome)};
    if (const auto* lease = std::get_if<Lease>(&waited.outcome)) {
        waited.if_unsent = [this, name, tried = std::get<TryLock>(question), granted = *lease] {
            waiting_room_.give_back_unknown(tried, granted, name);
        };
    }
    co_return waited;
}

void Backend::admit_after_wait(RoutedRequest& request, const Request& wanted,
                               const Outcome& outcome, const std::string& name) {
    const auto* fault = std::get_if<StoreFault>(&outcome);
    if (fault != nullptr && fault->effect() == StoreFault::Effect::unknown) return;
    try {
        access_.admit_again(request.http, request.rule.need, request.scheme, &wanted);
    } catch (const Refused&) {
        const auto* lease = std::get_if<Lease>(&outcome);
        if (lease != nullptr) {
            waiting_room_.give_back_unknown(std::get<TryLock>(wanted), *lease, name);
        }
        throw;
    }
}

Task<Backend::Released> Backend::release_later(RoutedRequest& request, LockKey key, LockId lock_id,
                                               std::chrono::milliseconds delay) {
    Request later = Release{.key = key, .lock_id = lock_id};
    AccessControl::admit(request.http, later);
    const std::string by = std::get<Release>(later).by;
    Quotas::Place place;
    bool has_place = true;
    if (const auto& token = request.http.token) {
        auto entered = quotas_.enter(*token, Quota::delayed_releases);
        has_place = entered.has_value();
        if (has_place) place = *std::move(entered);
    }
    std::optional<DelayedReleases::Number> announced;
    if (has_place) announced = delayed_releases_.announce(key, lock_id, std::move(place));
    if (announced) {
        Request question = Check{key, lock_id};
        Outcome outcome = co_await ask(request, std::move(question));
        const auto* const lease = std::get_if<Lease>(&outcome);
        if (std::holds_alternative<StoreFault>(outcome)) {
            delayed_releases_.withdraw(lock_id, *announced);
        } else if (lease == nullptr) {
            delayed_releases_.came_back(lock_id);
        }
        if (lease == nullptr) co_return Released{std::move(outcome), true};
        // Whose lease it is, is known only now.
        Quotas::Place owners_place;
        if (const auto& token = request.http.token) {
            auto entered = quotas_.enter_as(*token, Quota::delayed_releases, lease->owner);
            has_place = entered.has_value();
            if (has_place) owners_place = *std::move(entered);
        }
        if (has_place && delayed_releases_.end_later(*lease, delay, by, std::move(owners_place))) {
            co_return Released{std::move(outcome), true};
        }
        delayed_releases_.withdraw(lock_id, *announced);
    }
    Request ending = Release{std::move(key), lock_id};
    Outcome outcome = co_await ask(request, std::move(ending));
    co_return Released{std::move(outcome), false};
}

Task<std::expected<HolderPage, StoreFault>> Backend::knock(RoutedRequest& request, LockKey key,
                                                           Knock knock) {
    AccessControl::admit(request.http, knock.by);
    AccessControl::admit(request.http, Need::use, key);
    const std::shared_ptr<const Token> token = request.http.token;
    knock.client = id_of(token.get());
    refuse_until(knocks_.pause_of(key, knock));
    reserve_answer(request, Limits::page_bytes);  // the holders that the store names
    // Asked on the server's behalf, because a client may knock on a key whose holders it may not
    // see.
    Request question = Holders{key};
    Outcome outcome =
        co_await store_.ask(std::move(question), Recipient::nobody, id_of(token.get()));
    if (const auto* fault = std::get_if<StoreFault>(&outcome)) co_return std::unexpected{*fault};
    auto* const holders = std::get_if<HolderPage>(&outcome);
    if (holders == nullptr || holders->empty()) co_return HolderPage{};
    knock.at = holders->store_now;
    refuse_until(knocks_.add(key, holders->items, knock));
    if (holders->size() > Limits::named_holders) {
        holders->items.erase(holders->begin() + Limits::named_holders, holders->end());
        holders->cut = true;
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
    std::function<bool()> still_allowed;
    const auto token = request.http.token;
    if (token) {
        filter.visible = visible_keys(token.get());
        // The stream keeps its place in the quota together with this function.
        auto place = or_refuse(quotas_.enter(*token, Quota::event_streams));
        still_allowed = [this, token, place = std::move(place)] {
            return access_.still_sees_the_same(*token);
        };
    }
    auto opened = co_await reporter_.open(std::move(filter), std::move(last_id),
                                          std::move(still_allowed), format);
    // The tokens may have changed before the stream was opened.
    if (opened) access_.admit_again(request.http, Need::see, request.scheme);
    if (opened && token && !access_.still_sees_the_same(*token)) {
        throw Refused{{.status = 403, .code = "forbidden", .detail = phrases::keys_changed}};
    }
    co_return opened;
}

std::optional<StoreStatus> Backend::store_status(RoutedRequest& request) {
    request.http.token = access_.recognise(request.http, request.scheme, request.connection);
    if (options_.tokens && !request.http.token) return std::nullopt;
    return locks_.status();
}

Task<Levels> Backend::levels(RoutedRequest& request) {
    AccessControl::admit_to_totals(request.http);
    const auto held = co_await count_leases();
    const StoreQueue::Queues queues = store_.queues();
    const Audit* const audit = options_.audit;
    co_return Levels{.requests = under_way_,
                     .with_store = queues.under_way,
                     .queued_keeps = queues.keeps,
                     .queued_tries = queues.tries,
                     .waiters = waiting_room_.waiting(),
                     .lines = waiting_room_.lines(),
                     .listeners = reporter_.listeners(),
                     .audit_lines_written = audit != nullptr ? audit->lines_written() : 0,
                     .audit_lines_lost = audit != nullptr ? audit->lines_lost() : 0,
                     .held = held,
                     .quotas = quotas_.levels(),
                     .store = locks_.status()};
}

Task<bool> Backend::count_is_complete(RoutedRequest& request) {
    if (!visible_to(request.http).has_every_key()) co_return true;
    const auto held = co_await count_leases();
    co_return !held || held->leases < HeldCount::most;
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
    reporter_.end_revoked();
    waiting_room_.send_away_revoked();
}

void Backend::close() {
    waiting_room_.close();
    delayed_releases_.close();
    reporter_.close();
}

}  // namespace leasehold::server
