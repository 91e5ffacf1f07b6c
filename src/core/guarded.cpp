#include "core/guarded.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace leasehold {
namespace {

// A guard has seen no clock before, so it cannot notice that the store's clock leapt.
const StoreClock no_clock_watched{Duration::max()};

}  // namespace

Result<Lease> check_guarded(const Slot& slot, LockId lock_id, Time clock, const PastLookup& past) {
    std::vector<Ended> no_endings;
    const Rules rules{clock, no_clock_watched, past, no_endings};
    return result_of<Result<Lease>>(rules.decide(Check{slot.key, lock_id}, slot.key, slot.cell));
}

Result<Lease> release_guarded(Slot& slot, LockId lock_id, Time clock, const PastLookup& past,
                              std::vector<Ended>& endings) {
    Rules rules{clock, no_clock_watched, past, endings};
    auto released =
        result_of<Result<Lease>>(rules.decide(Release{slot.key, lock_id}, slot.key, slot.cell));
    if (released) released->ended = true;
    return released;
}

Retry guard_attempts(Duration busy_patience) {
    constexpr Duration longest = std::chrono::hours{24};
    return Retry{retries::busy_lease, SteadyClock::now() + std::min(busy_patience, longest)};
}

Result<Lease> busy_guarded(Time clock) {
    Refusal busy;
    busy.kind = Refusal::Kind::busy;
    busy.store_now = clock;
    return std::unexpected{std::move(busy)};
}

}  // namespace leasehold
