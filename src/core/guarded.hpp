#pragma once

#include <vector>

#include <leasehold/lease.hpp>

#include "core/lock_row.hpp"
#include "core/retry.hpp"

// The rules for guard() and release() in a caller's transaction, on a slot that it has locked.
namespace leasehold {

[[nodiscard]] Result<Lease> check_guarded(const Slot& slot, LockId lock_id, Time clock,
                                          const PastLookup& past);

[[nodiscard]] Result<Lease> release_guarded(Slot& slot, LockId lock_id, Time clock,
                                            const PastLookup& past, std::vector<Ended>& endings);

// The attempts of a guard at a lease that another transaction has locked. It never waits in the
// database: a wait could make the caller's transaction the victim of a deadlock.
[[nodiscard]] Retry guard_attempts(Duration busy_patience);

// The answer if another transaction has locked the lease.
[[nodiscard]] Result<Lease> busy_guarded(Time clock);

}  // namespace leasehold
