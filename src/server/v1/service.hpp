#pragma once

#include <boost/json/array.hpp>

#include <algorithm>
#include <atomic>

#include "server/access/access_control.hpp"
#include "server/events/reporter.hpp"
#include "server/http/body_budget.hpp"
#include "server/http/message.hpp"
#include "server/http/target.hpp"
#include "server/options.hpp"
#include "server/statistics/statistics.hpp"
#include "server/store/held_leases.hpp"
#include "server/store/readiness.hpp"
#include "server/store/store_queue.hpp"
#include "server/tasks.hpp"
#include "server/waiting/delayed_releases.hpp"
#include "server/waiting/knocks.hpp"
#include "server/waiting/waiting_room.hpp"

namespace leasehold::server {

// Answers requests: what a URL and a method mean is known here. Shared by all connections;
// thread-safe.
class Service {
public:
    // All outlive this.
    Service(LockManager& locks, asio::io_context& home, const ServerOptions& options)
        : locks_{locks},
          options_{options},
          access_{options},
          reporter_{locks.limits(), home, options,
                    [this](std::vector<Request> requests) {
                        return store_.look_up(std::move(requests));
                    }},
          room_{locks, reporter_, home, options},
          delayed_releases_{room_, home, options},
          store_{locks, room_, delayed_releases_, statistics_, reporter_, options},
          held_{store_, locks.limits().page_rows, options.leases_counted_every},
          readiness_{store_} {}

    // Never throws: whatever goes wrong is a reply. `connection` is the one it came by.
    [[nodiscard]] Task<Reply> answer(HttpRequest& request, Connection& connection);

    // Of a request whose header is there and whose body, of that length where it is known, is still
    // to come: why it is refused already. Notes in it that it is let in.
    [[nodiscard]] std::optional<Reply> refusal_before(std::optional<std::uint64_t> body_bytes,
                                                      HttpRequest& request,
                                                      const Connection& connection);

    [[nodiscard]] BodyBudget& bodies() noexcept { return bodies_; }

    // From now on these are the tokens, also for those who listen to events or wait for a key.
    void use(std::shared_ptr<const Tokens> tokens);

    // Sends away whoever waits; no reply waits for anything from now on.
    void close() {
        room_.close();
        delayed_releases_.close();
        reporter_.close();
    }

    [[nodiscard]] const WaitingRoom& room() const noexcept { return room_; }
    [[nodiscard]] const Reporter& reporter() const noexcept { return reporter_; }

private:
    // What the header alone decides. Throws what reply_to_exception() takes.
    [[nodiscard]] std::optional<Target> read_header(const HttpRequest& request) const;
    void let_in(HttpRequest& request, const Target& target, const Connection& connection);
    // Picks the function for one that is let in. Throws the same.
    [[nodiscard]] Task<Reply> perform(HttpRequest& request, const Target& target,
                                      Connection& connection);
    [[nodiscard]] static Task<Reply> at_once(Reply reply);

    // What the token of who asks may do.
    [[nodiscard]] static Reply token(const HttpRequest& request);
    [[nodiscard]] Task<Reply> ready();
    [[nodiscard]] Task<Reply> metrics();
    [[nodiscard]] Task<Reply> batch(HttpRequest& request);

    // lock_routes.cpp
    [[nodiscard]] Task<Reply> try_lock(HttpRequest& request, const Target& target,
                                       Connection& connection);
    // Throws Refused where the tokens have changed so that it may not have what it waited for,
    // which is given back unless somebody may know of it; where that is not known, it is told so.
    void admit_after_wait(HttpRequest& request, Request& wanted, const Outcome& outcome);
    // The lease that was asked for with its lock id, and who knocked.
    [[nodiscard]] Reply reply_to_holder(const Outcome& outcome) const;
    [[nodiscard]] Task<Reply> look(const HttpRequest& request, const Target& target);
    [[nodiscard]] Task<Reply> prolong(HttpRequest& request, const Target& target);
    [[nodiscard]] Task<Reply> release(const HttpRequest& request, const Target& target);
    [[nodiscard]] Task<Reply> break_lock(HttpRequest& request, const Target& target);
    [[nodiscard]] Task<Reply> list(const Target& target);
    // As JSON, each with how many wait for its key.
    [[nodiscard]] Task<boost::json::array> with_waiters(const std::vector<Holder>& holders);
    [[nodiscard]] Task<Reply> release_all(const HttpRequest& request, const Target& target);
    [[nodiscard]] Task<Reply> history(const Target& target);

    // statistics_routes.cpp
    [[nodiscard]] Task<Reply> statistics(const Target& target);
    [[nodiscard]] Task<Reply> refused(const Target& target);
    [[nodiscard]] Task<std::optional<HeldCount>> count_held();

    // event_routes.cpp
    [[nodiscard]] Task<Reply> events(HttpRequest& request, const Target& target);
    [[nodiscard]] Task<Reply> knock(HttpRequest& request, const Target& target);
    // Adds who knocked, if anybody did, to a lease that its holder asked for.
    void put_knocks(boost::json::object& lease_json, const Lease& lease) const;

    LockManager& locks_;
    const ServerOptions& options_;
    AccessControl access_;
    BodyBudget bodies_{std::max(options_.bodies_bytes, options_.body_bytes)};
    Statistics statistics_;
    Reporter reporter_;
    Knocks knocks_;
    WaitingRoom room_;
    DelayedReleases delayed_releases_;
    StoreQueue store_;
    HeldLeases held_;
    Readiness readiness_;
    std::atomic<std::size_t> under_way_{0};
};

}  // namespace leasehold::server
