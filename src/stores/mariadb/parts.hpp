#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

namespace leasehold::mariadb {

// The most rows that one statement reads or writes. Such a statement stays far below
// max_allowed_packet, whatever the rows hold.
inline constexpr std::size_t rows_per_statement = 256;

// Calls `use` with one part of the items after the other.
template <class Items, class Use>
void in_parts(const Items& items, Use use) {
    for (std::size_t at = 0; at < items.size(); at += rows_per_statement) {
        use(std::span{items}.subspan(at, std::min(rows_per_statement, items.size() - at)));
    }
}

}  // namespace leasehold::mariadb
