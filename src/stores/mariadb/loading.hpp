#pragma once

#include <cstdint>

#include "core/work.hpp"
#include "stores/mariadb/connection.hpp"

namespace leasehold::mariadb {

enum class LoadTo : std::uint8_t { read, change };

// Reads the rows of the work's slots, their shares, the pasts of its lock ids, and the clock. With
// LoadTo::change it begins a transaction:
//
// 1. One script locks the rows to be changed, skips rows that another transaction has locked, and
//    reads all other rows, the pasts of lock ids that tries bring, and the clock.
// 2. A row that was to be locked and did not come is read without a lock: it is missing or blocked.
// 3. The shares of the locked rows are read. They cannot change any more.
// 4. The pasts of other lock ids are read if no row has them.
//
// With LoadTo::read the rows come with their shares in one snapshot, and the pasts of lock ids that
// no row has are read after that.
//
// Throws StoreFault if the tables have another version than `version`, as all functions here.
void load_rows(Link& link, Work& work, LoadTo purpose, std::size_t version);

[[nodiscard]] ClockReading load_clock(Link& link, std::size_t version);

// The rows of one query outside a transaction.
[[nodiscard]] ResultSet ask(Link& link, std::string_view sql, std::size_t version);

}  // namespace leasehold::mariadb
