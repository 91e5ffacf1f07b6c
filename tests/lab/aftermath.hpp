#pragma once

#include <span>

#include "lab/checker.hpp"

namespace leasehold::lab {

// Asks the store for the leases and the history of these keys. Throws StoreFault.
[[nodiscard]] Aftermath read_aftermath(Store& store, std::span<const LockKey> keys);

}  // namespace leasehold::lab
