#pragma once

#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include <leasehold/lock_manager.hpp>

namespace leasehold {

// One lock for a whole aggregate: its members lock their root. One person at a time then edits a
// customer and its addresses, whichever of them is opened. Every call takes a member or the root,
// and acts on the root's lease. Thread-safe if `root_of` is.
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

    // As the calls of LockManager with the root's key.
    [[nodiscard]] Result<Lease> check(const LockKey& member, LockId lock_id) {
        return locks_.check(root(member), lock_id);
    }
    [[nodiscard]] Result<Lease> extend(const LockKey& member, LockId lock_id, Duration by) {
        return locks_.extend(root(member), lock_id, by);
    }
    [[nodiscard]] Result<Lease> renew(const LockKey& member, LockId lock_id, Duration ttl,
                                      std::optional<Duration> max_hold = {}) {
        return locks_.renew(root(member), lock_id, ttl, max_hold);
    }
    Result<Lease> release(const LockKey& member, LockId lock_id) {
        return locks_.release(root(member), lock_id);
    }

    // A store's guard() or release(): in your own transaction on the store's database.
    template <class Transaction>
    using InTransaction = Result<Lease>(Transaction*, const LockKey&, LockId, Duration);

    // Checks in your own transaction that the root's lease is alive, by the guard() of your store:
    //   aggregates.guard(postgres::guard, db, address, lock_id)
    // If it is, nobody can lock any member of the aggregate before the transaction ends.
    template <class Transaction>
    [[nodiscard]] Result<Lease> guard(InTransaction<Transaction>& store_guard,
                                      std::type_identity_t<Transaction>* transaction,
                                      const LockKey& member, LockId lock_id,
                                      Duration busy_patience = Limits{}.busy_patience) const {
        return store_guard(transaction, root(member), lock_id, busy_patience);
    }

    // Ends the root's lease when your transaction commits, by the release() of your store:
    //   aggregates.release(postgres::release, db, address, lock_id)
    template <class Transaction>
    Result<Lease> release(InTransaction<Transaction>& store_release,
                          std::type_identity_t<Transaction>* transaction, const LockKey& member,
                          LockId lock_id, Duration busy_patience = Limits{}.busy_patience) const {
        return store_release(transaction, root(member), lock_id, busy_patience);
    }

private:
    LockManager& locks_;
    RootOf root_of_;
};

}  // namespace leasehold
