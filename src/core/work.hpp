#pragma once

#include <cstddef>
#include <unordered_map>
#include <vector>

#include <leasehold/time.hpp>

#include "core/lock_row.hpp"
#include "core/rules.hpp"

namespace leasehold {

// The database's clock, and the floor that is kept in the database: a time below the floor is never
// used again.
struct ClockReading {
    Time clock{};
    Time floor{};
};

// What one transaction works on.
struct Work {
    std::vector<Slot> slots{};       // in the order of their keys, all different
    std::vector<LockId> lock_ids{};  // of the requests: load() fills in `past` for them
    // The first `brought_ids` of these come from tries. The others name leases that a slot most
    // likely has.
    std::size_t brought_ids = 0;
    std::unordered_map<LockId, Ended> past{};
    std::vector<Ended> endings{};  // to be written to the history
    ClockReading reading{};        // read after the rows were locked
    Time raise_floor_to{};         // if set: the new floor
};

}  // namespace leasehold
