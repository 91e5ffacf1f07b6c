#pragma once

#include <vector>

#include <leasehold/lease.hpp>

#include "core/lock_row.hpp"

// The rules for guard() and release() in a caller's transaction, on a slot that it has locked.
namespace leasehold {

[[nodiscard]] Result<Lease> check_guarded(const Slot& slot, LockId lock_id, Time clock,
                                          const PastLookup& past);

[[nodiscard]] Result<Lease> release_guarded(Slot& slot, LockId lock_id, Time clock,
                                            const PastLookup& past, std::vector<Ended>& endings);

// The answer if another transaction has locked the lease.
[[nodiscard]] Result<Lease> busy_guarded(Time clock);

}  // namespace leasehold
