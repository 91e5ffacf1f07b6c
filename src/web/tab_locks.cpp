#include <leasehold/request.hpp>
#include <leasehold/web/tab_locks.hpp>

#include <algorithm>
#include <exception>
#include <utility>

namespace leasehold::web {

Result<Lease> TabLocks::take(const LockKey& key, Mode mode) {
    const LockId lock_id = LockId::random();
    auto lease = try_lock(key, mode, lock_id);
    if (!lease) return lease;
    // The session may have ended while the store was asked.
    if (visitor_.has_left()) {
        locks_.release(lease->key, lease->lock_id);
        return std::unexpected{Refusal{.reason = Gone::released,
                                       .why = "the session has ended",
                                       .store_now = lease->store_now}};
    }
    used_.push_back(lease->key);
    // A tab that already had the lock gets its lease back, with the lock id it has.
    if (lease->lock_id == lock_id) taken_.push_back(*lease);
    return lease;
}

Result<Lease> TabLocks::try_lock(const LockKey& key, Mode mode, LockId lock_id) try {
    return locks_.try_lock(key, {.owner = owner_, .mode = mode, .ttl = ttl_, .lock_id = lock_id});
} catch (const StoreFault& fault) {
    if (fault.effect() == StoreFault::Effect::unknown) {
        locks_.submit(Release{.key = key, .lock_id = lock_id}, [](const Outcome&) {
            // If the store fails again, the lease expires.
        });
    }
    throw;
}

bool TabLocks::has(const LockKey& key, Mode mode) {
    return std::ranges::any_of(locks_.holders(key), [&](const Holder& holder) {
        return holder.owner == owner_ && holder.mode == mode;
    });
}

void TabLocks::release(const LockKey& key, LockId lock_id) {
    if (lock_id.is_nil()) return;
    const auto lease = locks_.check(key, lock_id);
    if (lease && visitor_.owns(*lease)) locks_.release(key, lock_id);
}

void TabLocks::keep() noexcept {
    taken_.clear();
    try {
        for (const LockKey& key : std::exchange(ending_, {})) locks_.wake_waiters(key);
        if (!starts_anew_) return;
        for (const Holder& held : locks_.list({.owner = owner_})) {
            if (std::ranges::find(used_, held.key) != used_.end()) continue;
            locks_.release_all(owner_, OwnerScope::exact, held.key);
        }
    } catch (const std::exception&) {
        // The leases expire.
    }
}

void TabLocks::give_back() noexcept {
    for (const Lease& lease : taken_) {
        try {
            locks_.release(lease.key, lease.lock_id);
        } catch (const std::exception&) {
            // The lease expires.
        }
    }
    taken_.clear();
}

}  // namespace leasehold::web
