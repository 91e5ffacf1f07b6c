#pragma once

#include <leasehold/request.hpp>

namespace leasehold {

// A lock id is fresh if Leasehold drew it for one try and no store has seen it yet. Then the store
// need not look for a lease that has it already, and the try is faster. A lock id that a caller
// brings is never fresh, because the caller may be asking again.
class FreshLockId {
public:
    [[nodiscard]] static TryLockId draw() {
        TryLockId drawn{LockId::random()};
        drawn.fresh_ = true;
        return drawn;
    }

    [[nodiscard]] static bool is_fresh(const TryLockId& id) noexcept { return id.fresh_; }

    // Call it before the same try is sent again: a store may have granted it.
    static void mark_as_sent(TryLockId& id) noexcept { id.fresh_ = false; }
};

}  // namespace leasehold
