#pragma once

#include <functional>
#include <utility>

#include <leasehold/lock_manager.hpp>

namespace leasehold {

// One lock for a whole aggregate: its members lock their root. One person at a time then edits a
// customer and its addresses, whichever of them is opened. Thread-safe if `root_of` is. In your own
// transaction, guard the root: `postgres::guard(db, aggregates.root(member), lock_id)`.
class CoarseGrained {
public:
    // Maps a member to its root. A root, and a record outside any aggregate, is mapped to itself.
    using RootOf = std::function<LockKey(const LockKey& member)>;

    // `locks` outlives this.
    CoarseGrained(LockManager& locks, RootOf root_of)
        : locks_{locks}, root_of_{std::move(root_of)} {}

    [[nodiscard]] LockKey root(const LockKey& member) const { return root_of_(member); }

    // Locks the root: the lease names the root as its key.
    [[nodiscard]] Result<Lease> try_lock(const LockKey& member, LockOptions options = {}) {
        return locks_.try_lock(root(member), std::move(options));
    }
    [[nodiscard]] Result<Lease> check(const LockKey& member, LockId lock_id) {
        return locks_.check(root(member), lock_id);
    }
    [[nodiscard]] Result<Lease> extend(const LockKey& member, LockId lock_id, Duration by) {
        return locks_.extend(root(member), lock_id, by);
    }
    [[nodiscard]] Result<Lease> renew(const LockKey& member, LockId lock_id, Duration ttl) {
        return locks_.renew(root(member), lock_id, ttl);
    }
    Result<Lease> release(const LockKey& member, LockId lock_id) {
        return locks_.release(root(member), lock_id);
    }

private:
    LockManager& locks_;
    RootOf root_of_;
};

}  // namespace leasehold
