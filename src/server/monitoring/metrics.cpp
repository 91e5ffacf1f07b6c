#include "server/monitoring/metrics.hpp"

#include <prometheus/text_serializer.h>

#include <array>
#include <atomic>
#include <utility>

#include "core/enum_names.hpp"
#include "core/enum_table.hpp"
#include "server/http/status.hpp"
#include "server/monitoring/connection_events.hpp"
#include "server/monitoring/families.hpp"
#include "server/monitoring/instruments.hpp"
#include "server/monitoring/labelled.hpp"
#include "server/monitoring/process_metrics.hpp"
#include "server/options.hpp"

namespace leasehold::server {
namespace {

using Cause = StoreFault::Cause;
using Effect = StoreFault::Effect;

constexpr std::uint64_t us = 1'000;
constexpr std::uint64_t ms = 1'000 * us;
constexpr std::uint64_t s = 1'000 * ms;
constexpr double nanoseconds = 1e9;
constexpr std::array durations{50 * us,  100 * us, 250 * us,  500 * us, 1 * ms,   2500 * us,
                               5 * ms,   10 * ms,  25 * ms,   50 * ms,  100 * ms, 250 * ms,
                               500 * ms, 1 * s,    2500 * ms, 5 * s,    10 * s};
constexpr std::array waits{10 * ms,   50 * ms, 100 * ms, 250 * ms, 500 * ms, 1 * s,
                           2500 * ms, 5 * s,   10 * s,   20 * s,   30 * s,   60 * s};
constexpr auto sizes = std::to_array<std::uint64_t>({1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024});

// The route and the method of a request.
using Call = std::pair<std::string_view, std::string_view>;
struct HashOfCall {
    std::size_t operator()(const Call& call) const noexcept {
        const std::hash<std::string_view> hash;
        return hash(call.first) * 31 + hash(call.second);
    }
};
constexpr std::string_view no_route = "other";

// The last count is of statuses that are not in the list.
using ByStatus = std::array<Count, statuses.size() + 1>;

template <class Number>
double number(Number value) {
    return static_cast<double>(value);
}

void add_quotas(Families& to, const QuotaLevels& levels, const ServerOptions& options) {
    const auto used = to.gauge("leasehold_quota_used", "What all tokens use of a quota together.");
    const auto limit = to.gauge("leasehold_quota_limit",
                                "What one token may use, unless its entry says otherwise; 0 means "
                                "no limit.");
    const auto fullest =
        to.gauge("leasehold_quota_fullest_ratio",
                 "How much of its limit the token uses that is nearest to its limit, 0 to 1.");
    const auto refused =
        to.counter("leasehold_quota_refusals_total", "Requests that a quota did not allow.");
    for (const auto& [quota, traits] : quota_traits) {
        const Families::Labels labels{{"quota", std::string{traits.name}}};
        used.with(number(levels[quota].used), labels);
        limit.with(options.tokens ? number(options.quotas[quota]) : 0, labels);
        fullest.with(levels[quota].fullest, labels);
        refused.with(number(levels[quota].refusals), labels);
    }
}

}  // namespace

struct Metrics::Counts {
    Labelled<Call, ByStatus, HashOfCall> requests;
    Labelled<std::string_view, Distribution<durations>> took;  // by route
    Distribution<waits> waited;
    Count body_bytes;
    Count answer_bytes;

    EnumArray<ConnectionEvent, Count> connections;

    Count granted;
    Count renewed;
    Count released;
    Count broken;
    EnumArray<Gone, Count> lost;
    Count held;
    Count busy;
    EnumArray<Gone, Count> gone;

    Distribution<sizes> batch_requests;
    Distribution<durations> batch_took;
    EnumArray<Cause, EnumArray<Effect, Count>> faults;
    std::atomic<bool> store_answers{true};
    std::atomic<bool> offset_known{false};
    std::atomic<Duration::rep> offset{0};

    [[nodiscard]] double of(ConnectionEvent event) const {
        return number(connections[event].value());
    }
    void count(RequestKind kind, const Lease& lease);
    void count(RequestKind kind, const Refusal& refusal);

    void add_requests(Families& to) const;
    void add_connections(Families& to, const ServerOptions& options) const;
    void add_leases(Families& to) const;
    void add_store(Families& to, const StoreStatus& status) const;
};

void Metrics::Counts::count(RequestKind kind, const Lease& lease) {
    if (takes(kind) && lease.granted_at == lease.store_now) {
        granted.add();
    } else if (takes(kind) || prolongs(kind)) {
        renewed.add();
    } else if (kind == RequestKind::break_lock) {
        broken.add();
    } else if (ends(kind)) {
        released.add();
    }
}

void Metrics::Counts::count(RequestKind kind, const Refusal& refusal) {
    switch (refusal.kind) {
        case Refusal::Kind::held: held.add(); break;
        case Refusal::Kind::busy: busy.add(); break;
        case Refusal::Kind::gone:
            gone[refusal.reason].add();
            if (names_own_lease(kind)) lost[refusal.reason].add();
            break;
    }
}

void Metrics::Counts::add_requests(Families& to) const {
    const auto total = to.counter("leasehold_requests_total", "Requests answered.");
    const auto duration = to.histogram(
        "leasehold_request_duration_seconds",
        "From a request's last byte to its answer's first, except tries that waited for a key.");
    requests.for_each([&](const Call& call, const ByStatus& counts) {
        for (std::size_t i = 0; i < counts.size(); ++i) {
            if (counts[i].value() == 0) continue;
            const bool listed = i < statuses.size();
            total.with(number(counts[i].value()),
                       {{"method", std::string{call.second}},
                        {"route", std::string{call.first}},
                        {"status", listed ? std::to_string(statuses[i].code) : "other"}});
        }
    });
    took.for_each([&](std::string_view route, const Distribution<durations>& times) {
        duration.with(times.collect(nanoseconds), {{"route", std::string{route}}});
    });
    to.histogram("leasehold_wait_duration_seconds",
                 "How long it took to answer tries that waited for their key, granted or not.")
        .with(waited.collect(nanoseconds));
    to.counter("leasehold_request_body_bytes_total", "Bytes of requests' bodies.")
        .with(number(body_bytes.value()));
    to.counter("leasehold_response_bytes_total", "Bytes of answers, headers included.")
        .with(number(answer_bytes.value()));
}

void Metrics::Counts::add_connections(Families& to, const ServerOptions& options) const {
    const double accepted = of(ConnectionEvent::accepted);
    to.gauge("leasehold_connections", "Connections now.")
        .with(accepted - of(ConnectionEvent::ended));
    to.gauge("leasehold_connections_limit", "Connections that are served at once.")
        .with(number(options.connections));
    to.counter("leasehold_connections_accepted_total", "Connections served.").with(accepted);
    to.counter("leasehold_connections_turned_away_total",
               "Connections beyond a limit that were not served.")
        .with(of(ConnectionEvent::turned_away));
    to.counter("leasehold_accept_pauses_total",
               "Times accepting paused for a moment, for example for lack of file descriptors.")
        .with(of(ConnectionEvent::accepting_paused));
    const auto cut = to.counter("leasehold_connections_cut_total",
                                "Connections that missed a deadline, were idle for too long, or "
                                "were silent when another client needed their place.");
    for (const auto& [event, text] : connection_events) {
        if (text.is_cut) cut.with(of(event), {{"reason", std::string{text.name}}});
    }
}

void Metrics::Counts::add_leases(Families& to) const {
    const auto total = [&](const char* name, const char* help, const Count& count) {
        to.counter(name, help).with(number(count.value()));
    };
    total("leasehold_leases_granted_total", "Leases granted by this server.", granted);
    total("leasehold_leases_renewed_total",
          "Leases extended, renewed, or given again to the owner that held them.", renewed);
    total("leasehold_leases_released_total", "Leases released by their holders or owners.",
          released);
    total("leasehold_leases_broken_total", "Leases broken by administrators.", broken);
    const auto lost_ones =
        to.counter("leasehold_leases_lost_total",
                   "Times a holder learned that its lease had ended without its doing.");
    lost.for_each([&](Gone how, const Count& count) {
        if (is_loss[how]) lost_ones.with(number(count.value()), {{"how", to_string(how)}});
    });
    const auto refusals = to.counter("leasehold_refusals_total",
                                     "Refusals sent to clients; a try that waited counts once.");
    refusals.with(number(held.value()),
                  {{"kind", to_string(Refusal::Kind::held)}, {"reason", "none"}});
    refusals.with(number(busy.value()),
                  {{"kind", to_string(Refusal::Kind::busy)}, {"reason", "none"}});
    gone.for_each([&](Gone how, const Count& count) {
        refusals.with(number(count.value()),
                      {{"kind", to_string(Refusal::Kind::gone)}, {"reason", to_string(how)}});
    });
}

void Metrics::Counts::add_store(Families& to, const StoreStatus& status) const {
    to.histogram("leasehold_store_batch_requests", "Requests that went to the store together.")
        .with(batch_requests.collect(1));
    to.histogram("leasehold_store_batch_duration_seconds", "How long the store took for a batch.")
        .with(batch_took.collect(nanoseconds));
    const auto failed =
        to.counter("leasehold_store_faults_total",
                   "Times the store could not answer; with effect unknown it may have acted.");
    faults.for_each([&](Cause cause, const EnumArray<Effect, Count>& by_effect) {
        // Not faults of the store: the client's mistake, and a request that is sent in parts.
        if (cause == Cause::lock_id_in_use || cause == Cause::too_large) return;
        by_effect.for_each([&](Effect effect, const Count& count) {
            failed.with(number(count.value()), {{"cause", std::string{cause_names[cause]}},
                                                {"effect", std::string{effect_names[effect]}}});
        });
    });
    to.gauge("leasehold_store_up", "1 if the store answered the last batch.")
        .with(store_answers ? 1 : 0);
    to.gauge("leasehold_store_info", "The store, and whether its answered changes survive a crash.")
        .with(1, {{"durability", to_string(status.durability)}, {"store", status.name}});
    if (!offset_known) return;
    const std::chrono::duration<double> ahead = Duration{offset.load()};
    to.gauge("leasehold_store_clock_offset_seconds",
             "How far the store's clock is ahead of this machine's, to within half of a "
             "batch's duration.")
        .with(ahead.count());
}

Metrics::Metrics(std::string version)
    : version_{std::move(version)}, counts_{std::make_unique<Counts>()} {}

Metrics::~Metrics() = default;

void Metrics::served(const Served& request) noexcept try {
    const std::string_view route = request.route.empty() ? no_route : request.route;
    counts_->requests[{route, request.method}][index_of_status(request.status)].add();
    const auto took = static_cast<std::uint64_t>(request.took.count());
    if (request.waited) {
        counts_->waited.add(took);
    } else {
        counts_->took[route].add(took);
    }
    counts_->body_bytes.add(request.bytes_in);
    counts_->answer_bytes.add(request.bytes_out);
} catch (const std::bad_alloc&) {
    // The first request of a route is not counted.
}

void Metrics::answered(const Answered& answered) {
    if (const auto* lease = std::get_if<Lease>(&answered.outcome)) {
        counts_->count(answered.kind, *lease);
    } else if (const auto* leases = std::get_if<std::vector<Lease>>(&answered.outcome)) {
        for (const Lease& one : *leases) counts_->count(answered.kind, one);
    } else if (const auto* refusal = std::get_if<Refusal>(&answered.outcome)) {
        if (answered.recipient == Recipient::client) counts_->count(answered.kind, *refusal);
    }
}

void Metrics::batch_applied(const Batch& batch) noexcept {
    counts_->batch_requests.add(batch.requests);
    counts_->batch_took.add(static_cast<std::uint64_t>(batch.took.count()));
    const bool answers = batch.faults < batch.requests;
    if (counts_->store_answers.load(std::memory_order_relaxed) != answers) {
        counts_->store_answers = answers;
    }
    if (!batch.clock_offset) return;
    counts_->offset = batch.clock_offset->count();
    counts_->offset_known = true;
}

void Metrics::store_failed(const StoreFault& fault) noexcept {
    counts_->faults[fault.cause()][fault.effect()].add();
}

void Metrics::happened(ConnectionEvent event) noexcept {
    counts_->connections[event].add();
}

std::string Metrics::text(const Levels& now, const ServerOptions& options) const {
    Families all;
    const auto level = [&](const char* name, const std::string& help, std::size_t value) {
        all.gauge(name, help).with(number(value));
    };
    all.gauge("leasehold_build_info", "The version of Leasehold.").with(1, {{"version", version_}});
    counts_->add_requests(all);
    level("leasehold_requests_under_way",
          "Requests being answered, including tries that wait for a key.", now.requests);
    counts_->add_connections(all, options);
    counts_->add_leases(all);
    if (now.held) {
        level("leasehold_leases_held",
              "Live leases in the store, of all its servers, when they were counted last: at a "
              "scrape, not more often than every " +
                  std::to_string(options.leases_counted_every.count()) + " ms, and up to " +
                  std::to_string(HeldCount::most) + ".",
              now.held->leases);
        const std::chrono::duration<double> at = now.held->at.time_since_epoch();
        all.gauge("leasehold_leases_counted_timestamp_seconds",
                  "When leasehold_leases_held was counted, in seconds since 1970.")
            .with(at.count());
    }
    level("leasehold_waiters", "Tries that wait for their key.", now.waiters);
    level("leasehold_waiters_limit", "Tries that may wait at once.", options.waiters);
    level("leasehold_waiting_lines", "Keys that are waited for.", now.lines);
    level("leasehold_events_clients", "Clients that follow the events.", now.listeners);
    level("leasehold_events_clients_limit", "Clients that may follow the events at once.",
          options.events_clients);
    level("leasehold_store_requests_under_way", "Requests that are with the store.",
          now.with_store);
    all.gauge("leasehold_queued_requests",
              "Requests that queue for the store. Requests that keep or end a lease go "
              "first.")
        .with(number(now.queued_keeps), {{"kind", "keep_or_end"}})
        .with(number(now.queued_tries), {{"kind", "try"}});
    level("leasehold_queued_tries_limit", "Tries that may queue; one more is answered 503.",
          options.queued_tries);
    add_quotas(all, now.quotas, options);
    all.counter("leasehold_audit_lines_total",
                "Lines of the audit, and lines that could not be written.")
        .with(number(now.audit_lines_written), {{"outcome", "written"}})
        .with(number(now.audit_lines_lost), {{"outcome", "lost"}});
    counts_->add_store(all, now.store);
    add_process_metrics(all);
    return prometheus::TextSerializer{}.Serialize(all.all());
}

}  // namespace leasehold::server
