#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>

#include <leasehold/lock_manager.hpp>

#include "server/access/access_control.hpp"
#include "server/events/reporter.hpp"
#include "server/options.hpp"
#include "server/requests.hpp"
#include "server/statistics/statistics.hpp"
#include "server/store/held_leases.hpp"
#include "server/store/readiness.hpp"
#include "server/store/store_queue.hpp"
#include "server/tasks.hpp"
#include "server/waiting/delayed_releases.hpp"
#include "server/waiting/knocks.hpp"
#include "server/waiting/waiting_room.hpp"

namespace leasehold::server {

// The parts of the server that handlers of every protocol use, one of each. The parts are connected
// by the stream of outcomes, to which they subscribe here. Thread-safe.
class Backend {
public:
    // All outlive this. The waiting room, the reporter and the delayed releases work on `home`.
    Backend(LockManager& locks, asio::io_context& home, const ServerOptions& options);

    [[nodiscard]] LockManager& locks() noexcept { return locks_; }
    [[nodiscard]] const ServerOptions& options() const noexcept { return options_; }
    [[nodiscard]] AccessControl& access() noexcept { return access_; }
    [[nodiscard]] Statistics& statistics() noexcept { return statistics_; }
    [[nodiscard]] StoreQueue& store() noexcept { return store_; }
    [[nodiscard]] Reporter& reporter() noexcept { return reporter_; }
    [[nodiscard]] Knocks& knocks() noexcept { return knocks_; }
    [[nodiscard]] WaitingRoom& waiting_room() noexcept { return waiting_room_; }
    [[nodiscard]] DelayedReleases& delayed_releases() noexcept { return delayed_releases_; }
    [[nodiscard]] Readiness& readiness() noexcept { return readiness_; }
    [[nodiscard]] std::atomic<std::size_t>& requests_under_way() noexcept { return under_way_; }

    // The number of live leases in the store, for the statistics too. Nothing if the store did not
    // answer.
    [[nodiscard]] Task<std::optional<HeldCount>> count_leases();
    // Counts them for the statistics, once a minute, on this executor.
    void count_leases_if_due(const Executor& executor);

    // Replaces the tokens, also for clients that listen to events or wait for a key.
    void use(std::shared_ptr<const Tokens> tokens);

    // Answers all clients that wait for a key or listen to events, and those that come later, at
    // once.
    void close();

private:
    LockManager& locks_;
    const ServerOptions& options_;
    AccessControl access_;
    OutcomeStream outcomes_;
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
