#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <leasehold/lock_manager.hpp>

#include "core/knocks.hpp"
#include "server/access/access_control.hpp"
#include "server/access/quotas.hpp"
#include "server/events/reporter.hpp"
#include "server/http/memory_budget.hpp"
#include "server/monitoring/levels.hpp"
#include "server/options.hpp"
#include "server/protocol/limited_view.hpp"
#include "server/protocol/route.hpp"
#include "server/requests.hpp"
#include "server/statistics/statistics.hpp"
#include "server/store/held_leases.hpp"
#include "server/store/readiness.hpp"
#include "server/store/store_queue.hpp"
#include "server/tasks.hpp"
#include "server/waiting/delayed_releases.hpp"
#include "server/waiting/waiting_room.hpp"

namespace leasehold::server {

// What the handlers of every protocol ask. The store, the waiting room and the events are reached
// only through functions that take the client's request: each of them checks the role, the owner
// and the keys of the client's token, signs what the client takes and ends, leaves out what the
// token may not see, and counts the outcome, so that no protocol can forget it. They throw Refused
// for what the token may not do, and BadRequest for what exceeds the limits. Thread-safe.
//
// The parts of the server are connected here by the stream of outcomes, to which they subscribe.
class Backend {
public:
    // All outlive this. The waiting room, the reporter and the delayed releases work on `home`.
    Backend(LockManager& locks, asio::io_context& home, const ServerOptions& options);

    [[nodiscard]] const ServerOptions& options() const noexcept { return options_; }
    [[nodiscard]] const Limits& limits() const noexcept { return locks_.limits(); }
    // Throws BadRequest for a request that exceeds the limits.
    void validate(const Request& wanted) const { locks_.validate(wanted); }

    // The store's answer. The token's rate counts the client's request once, as its route says, and
    // its quotas count what it may be granted.
    [[nodiscard]] Task<Outcome> ask(RoutedRequest& request, Request wanted);

    // The history, as ask() answers it, and where its next page begins.
    [[nodiscard]] Task<PastPage> history(RoutedRequest& request, History wanted);

    // The store's answers to several requests, of which rows and named holders take at most
    // `rows_bytes`. Throws BatchRefused if one of them exceeds the limits or is not allowed. The
    // token's rate counts every one of them, so the route has Pace::by_request; a request that the
    // rate or a quota does not allow now is answered with a fault.
    [[nodiscard]] Task<std::vector<Outcome>> ask_all(RoutedRequest& request,
                                                     std::vector<Request> wanted,
                                                     std::size_t rows_bytes);

    // Reserves memory for a batch of this many requests, for as long as the share exists. Throws
    // Refused if the client's token, or all clients together, have too many batches under way. One
    // batch of each token, and small ones, are always accepted.
    [[nodiscard]] MemoryBudget::Share reserve_batch(RoutedRequest& request, std::size_t requests);
    // Reserves room for an answer of this size. Throws Refused if the client, or all clients
    // together, have too many answers that are not sent yet.
    void reserve_answer(RoutedRequest& request, std::size_t bytes);
    // The same for requests that must be served. False if there is no room.
    [[nodiscard]] bool try_to_reserve_answer(RoutedRequest& request, std::size_t bytes);
    // The answers that are not sent yet.
    [[nodiscard]] MemoryBudget& unsent_answers() noexcept { return unsent_answers_; }

    // A grant, or the refusal after this time. Call `if_unsent` if the client does not receive the
    // grant.
    struct Waited {
        Outcome outcome;
        std::function<void()> if_unsent{};
    };
    [[nodiscard]] Task<Waited> wait(RoutedRequest& request, TryLock wanted, Duration patience);
    // The owners of the tries that wait for the key, in their order.
    [[nodiscard]] Task<std::vector<std::string>> waiting_owners(RoutedRequest& request,
                                                                const LockKey& key);
    // The number of tries that wait for each of these keys.
    [[nodiscard]] Task<std::vector<std::size_t>> waiting_for(RoutedRequest& request,
                                                             std::vector<LockKey> keys);

    // Releases the lease after the delay, unless its holder comes back. The lease if it is alive.
    // Releases the lease at once if the delay cannot be kept, for example because the token's quota
    // is used up: a page that is being closed does not read the answer and asks only once.
    struct Released {
        Outcome outcome;
        bool later;  // false: at once
    };
    [[nodiscard]] Task<Released> release_later(RoutedRequest& request, LockKey key, LockId lock_id,
                                               std::chrono::milliseconds delay);

    // Asks the holders of the key to release it, and returns them, at most Limits::named_holders:
    // none if nobody holds the key. The event streams report the knock for each of these; all
    // holders learn of it at their next check or renewal. Throws Refused if they were asked a
    // moment ago.
    [[nodiscard]] Task<std::expected<HolderPage, StoreFault>> knock(RoutedRequest& request,
                                                                    LockKey key, Knock knock);
    // The knocks for the holder of this lease, oldest first.
    [[nodiscard]] std::vector<Knock> knocks_on(const Lease& lease) const {
        return knocks_.on(lease.key, lease.fence);
    }

    // The events that match, for as long as the client's token may see them. `last_id` is the id of
    // the last event that the client has received, if it sent one.
    [[nodiscard]] Task<Reporter::Opened> listen(RoutedRequest& request, EventFilter filter,
                                                std::optional<std::string> last_id,
                                                const EventFormat& format);

    // The statistics of the keys that the client may see.
    [[nodiscard]] Task<Statistics::Summary> statistics(RoutedRequest& request,
                                                       Statistics::Span over);
    [[nodiscard]] std::vector<RefusedTries::Entry> refused_tries(RoutedRequest& request,
                                                                 const std::optional<LockKey>& key,
                                                                 std::size_t most);
    [[nodiscard]] Readiness& readiness() noexcept { return readiness_; }
    // What the store is, for clients with a token, or for all if the server has none. On a route
    // that needs no token.
    [[nodiscard]] std::optional<StoreStatus> store_status(RoutedRequest& request);
    // The store's clock.
    [[nodiscard]] Task<std::expected<Time, StoreFault>> store_time(RoutedRequest& request);
    // How much the token uses of each quota.
    [[nodiscard]] EnumArray<Quota, QuotaUse> quotas_of(const Token& token) {
        return quotas_.use_of(token);
    }
    // How full the server is now. For clients that may see every key.
    [[nodiscard]] Task<Levels> levels(RoutedRequest& request);
    // Whether the statistics that the client gets count every live lease of the store.
    [[nodiscard]] Task<bool> count_is_complete(RoutedRequest& request);
    [[nodiscard]] std::size_t waiting() const noexcept { return waiting_room_.waiting(); }
    [[nodiscard]] std::size_t listening() const { return reporter_.listeners(); }

    // Replaces the tokens, also for clients that listen to events or wait for a key.
    void use(std::shared_ptr<const Tokens> tokens);

    // Answers all clients that wait for a key or listen to events, and clients that come later,
    // at once.
    void close();

private:
    friend class Dispatcher;  // admits requests before their handlers run

    // ask() for requests that take or prolong leases, which the token's quotas count.
    [[nodiscard]] Task<Outcome> ask_within_quotas(std::shared_ptr<const Token> token,
                                                  Request wanted);
    // Asks, and records in the audit what became of a request that ends leases of others.
    [[nodiscard]] Task<Outcome> ask_audited(RoutedRequest& request, Request wanted);
    void audit(RoutedRequest& request, const Request& asked, const Outcome& outcome) const;
    // The answer to a request that lists rows of keys which the client may not all see.
    [[nodiscard]] Task<Outcome> ask_limited(RoutedRequest& request, Request wanted);

    // The number of live leases in the store, for the statistics too. Nothing if the store did not
    // answer.
    [[nodiscard]] Task<std::optional<HeldCount>> count_leases();
    // Counts the leases for the statistics, once a minute, on this executor.
    void count_leases_if_due(const Executor& executor);
    // Refuses a client whose token was changed while it waited, and releases what it was granted
    // unless the client may know of it. Does nothing if the effect is unknown: the client learns of
    // that instead.
    void admit_after_wait(RoutedRequest& request, const Request& wanted, const Outcome& outcome,
                          const std::string& name);

    LockManager& locks_;
    const ServerOptions& options_;
    MemoryBudget batches_{options_.batches_bytes, MemoryBudget::no_limit,
                          MemoryBudget::First::always_fits};
    MemoryBudget unsent_answers_{options_.answers_bytes, options_.answers_bytes_per_token};
    AccessControl access_;
    OutcomeStream outcomes_;
    Quotas quotas_;
    Statistics statistics_;
    Knocks knocks_;
    StoreQueue store_;
    Reporter reporter_;
    WaitingRoom waiting_room_;
    DelayedReleases delayed_releases_;
    HeldLeases held_;
    Readiness readiness_;
    std::atomic<std::size_t> under_way_{0};
};

}  // namespace leasehold::server
