#pragma once

#include "stores/mariadb/connection.hpp"

namespace leasehold::mariadb {

// Whether a table `locks` has the pattern's columns: type, id, lockid, expiration_time.
[[nodiscard]] bool has_the_patterns_table(Link& link);

// Throws StoreFault with the reason if a column, a key or a value of that table does not fit what
// Leasehold needs.
void require_the_patterns_rows(Link& link);

// Makes of that table one that its programs and Leasehold share. Its locks stay. Throws StoreFault
// before the table is changed if something does not fit; the table is unlocked when the caller
// disconnects.
//
// 1. Lock the table, and compare it with what Leasehold needs.
// 2. Bring the texts to UTF-8. The table is still the pattern's, so this can run again.
// 3. In one statement: texts to bytes, the expiry to a date with microseconds in the zone of the
//    session, and Leasehold's columns.
void adopt_the_patterns_table(Link& link);

// Nobody knows when an adopted lock was granted, but it was not after its end. Can run again.
void date_the_adopted_locks(Link& link);

}  // namespace leasehold::mariadb
