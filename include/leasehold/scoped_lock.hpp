#pragma once

#include <utility>

#include <leasehold/lock_manager.hpp>

namespace leasehold {

// Releases a lease at the end of the scope:
//   auto lease = locks.try_lock(key);
//   if (!lease) return explain(lease.error());
//   ScopedLock hold{locks, *std::move(lease)};
// If the release fails with a fault, the lease ends at its expiry.
class ScopedLock {
public:
    // `locks` outlives this.
    ScopedLock(LockManager& locks, Lease lease) : locks_{&locks}, lease_{std::move(lease)} {}
    ScopedLock(ScopedLock&& other) noexcept
        : locks_{std::exchange(other.locks_, nullptr)}, lease_{std::move(other.lease_)} {}
    ScopedLock& operator=(ScopedLock&&) = delete;
    ~ScopedLock();

    [[nodiscard]] const Lease& lease() const noexcept { return lease_; }

    // Gives the lease back without releasing it: the lease outlives the scope.
    Lease keep() && noexcept {
        locks_ = nullptr;
        return std::move(lease_);
    }

private:
    LockManager* locks_;
    Lease lease_;
};

}  // namespace leasehold
