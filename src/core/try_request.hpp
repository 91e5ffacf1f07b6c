#pragma once

#include <leasehold/lock_manager.hpp>
#include <leasehold/request.hpp>

namespace leasehold {

// What a store is asked for a lock with these options.
[[nodiscard]] TryLock try_request(LockKey key, LockOptions options, const Limits& limits);

}  // namespace leasehold
