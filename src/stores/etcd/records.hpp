#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/lock_row.hpp"

// The values of the store's keys in etcd, as JSON.
namespace leasehold::etcd {

[[nodiscard]] std::string print(const LockRow& row);
[[nodiscard]] std::string print_share(const Grant& share);
// These throw UnreadableRow if Leasehold did not write the value.
[[nodiscard]] LockRow row_from(std::string_view value);
[[nodiscard]] Grant share_from(std::string_view value);

// The record of an ended lease. `order` is its place among leases that ended at the same moment.
[[nodiscard]] std::string print(const Ended& ended, std::int64_t order);
struct EndedRecord {
    Ended ended;
    std::int64_t order = 0;
};
// Throws UnreadableRow.
[[nodiscard]] EndedRecord ended_from(std::string_view value);

// A time as text; texts sort as their times do.
[[nodiscard]] std::string print(Time time);
[[nodiscard]] std::optional<Time> time_from(std::string_view value);

}  // namespace leasehold::etcd
