#include "locks/step_locks.hpp"

#include <algorithm>

#include "domain/lock_rules.hpp"

namespace customers {

leasehold::Result<leasehold::Lease> StepLocks::take(const leasehold::LockKey& member,
                                                    leasehold::Mode mode) {
    const auto lock_id = leasehold::LockId::random();
    auto lease = desk_.aggregates.try_lock(
        member, {.owner = owner_, .mode = mode, .ttl = desk_.ttl, .lock_id = lock_id});
    if (!lease) return lease;
    used_.push_back(lease->key);
    // A tab that already had the lock gets its lease back, with the lock id it has.
    if (lease->lock_id == lock_id) taken_.push_back(*lease);
    return lease;
}

bool StepLocks::has(const leasehold::LockKey& member, leasehold::Mode mode) {
    return std::ranges::any_of(desk_.locks.holders(root_of(member)),
                               [&](const leasehold::Holder& holder) {
                                   return holder.owner == owner_ && holder.mode == mode;
                               });
}

void StepLocks::release(const leasehold::LockKey& key, leasehold::LockId lock_id) {
    const auto lease = desk_.locks.check(key, lock_id);
    if (!lease || !is_ours(*lease)) return;
    desk_.locks.release(key, lock_id);
    wakes_ = true;
}

void StepLocks::keep() noexcept {
    try {
        if (starts_anew_) release_earlier_ones();
    } catch (const std::exception&) {
        // The leases expire.
    }
    taken_.clear();
    if (wakes_) desk_.line.wake();
}

void StepLocks::give_back() noexcept {
    for (const leasehold::Lease& lease : taken_) {
        try {
            desk_.locks.release(lease.key, lease.lock_id);
        } catch (const std::exception&) {
            // The lease expires.
        }
    }
    taken_.clear();
}

void StepLocks::release_earlier_ones() {
    for (const leasehold::Holder& held : desk_.locks.list({.owner = owner_})) {
        if (std::ranges::find(used_, held.key) != used_.end()) continue;
        desk_.locks.release_all(owner_, leasehold::OwnerScope::exact, held.key);
        wakes_ = true;
    }
}

}  // namespace customers
