#pragma once

#include <functional>
#include <memory>

#include <leasehold/store.hpp>

namespace leasehold::memory {

// Leases in this process. Nothing survives it; fences still grow across restarts of the process,
// because they follow the clock.
// `clock` must not go back; by default it is the steady clock, set to the system's time at the
// start.
[[nodiscard]] std::unique_ptr<Store> open(StoreOptions options = {},
                                          std::function<Time()> clock = {});

}  // namespace leasehold::memory
