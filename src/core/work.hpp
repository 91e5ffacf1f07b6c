#pragma once

#include <unordered_map>
#include <vector>

#include <leasehold/time.hpp>

#include "core/lock_row.hpp"
#include "core/rules.hpp"

namespace leasehold {

// The database's clock as it is, and the floor that was kept of it: no time below that is used
// again.
struct ClockReading {
    Time clock{};
    Time floor{};
};

// What one transaction works on.
struct Work {
    std::vector<Slot> slots{};       // in the order of their keys, all different
    std::vector<LockId> lock_ids{};  // of the requests: their pasts are wanted
    std::unordered_map<LockId, Ended> past{};
    std::vector<Ended> endings{};  // to be kept as history
    ClockReading reading{};        // made after the rows were locked
    Time raise_floor_to{};         // where set: no time before this may ever be used again
};

}  // namespace leasehold
