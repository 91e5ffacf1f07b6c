#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/lock_row.hpp"

// What stands in the values of the store's keys, as JSON.
namespace leasehold::etcd {

[[nodiscard]] std::string print(const LockRow& row);
[[nodiscard]] std::string print_share(const Grant& share);
// Nothing where somebody else has written something else there.
[[nodiscard]] std::optional<LockRow> row_from(std::string_view value);
[[nodiscard]] std::optional<Grant> share_from(std::string_view value);

// Of a lease that ended. `order` is its place among those that ended at the same moment.
[[nodiscard]] std::string print(const Ended& ended, std::int64_t order);
struct EndedRecord {
    Ended ended;
    std::int64_t order = 0;
};
[[nodiscard]] std::optional<EndedRecord> ended_from(std::string_view value);

// Times in the order of their texts.
[[nodiscard]] std::string print(Time time);
[[nodiscard]] std::optional<Time> time_from(std::string_view value);

}  // namespace leasehold::etcd
