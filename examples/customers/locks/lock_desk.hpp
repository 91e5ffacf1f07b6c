#pragma once

#include <memory>
#include <optional>
#include <string>

#include <leasehold/coarse_grained.hpp>
#include <leasehold/lock_manager.hpp>
#include <leasehold/store.hpp>

#include "domain/lock_rules.hpp"
#include "locks/delayed_releases.hpp"
#include "locks/knocks.hpp"
#include "locks/waiting_line.hpp"

namespace customers {

// Everything about locks that the whole application shares. Thread-safe.
struct LockDesk {
    LockDesk(std::unique_ptr<leasehold::Store> store, leasehold::Duration life);

    leasehold::LockManager locks;
    leasehold::CoarseGrained aggregates{locks, root_of};
    WaitingLine line{locks};
    DelayedReleases delayed_releases{locks, [this] { line.wake(); }};
    Knocks knocks{};
    const leasehold::Duration ttl;  // of an edit lock; the page renews it
    // Whether the database refuses to write an object without its lock. Set before the first visit.
    bool database_enforces = false;

    // Waits in line for the lock. If the page does not renew the lock soon after the grant, it was
    // closed while it waited, and the lock is released. Nothing if too many requests are waiting.
    [[nodiscard]] std::optional<leasehold::Result<leasehold::Lease>> wait(
        const leasehold::LockKey& key, const leasehold::LockOptions& options,
        leasehold::Duration patience);

    // Asks the holders to finish; returns their number.
    std::size_t knock(const leasehold::LockKey& key, const std::string& owner,
                      const std::string& message);
};

}  // namespace customers
