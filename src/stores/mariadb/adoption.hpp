#pragma once

#include "stores/mariadb/connection.hpp"

namespace leasehold::mariadb {

// Whether a table `locks` has the pattern's columns: type, id, lockid, expiration_time.
[[nodiscard]] bool has_the_patterns_table(Link& link);

// Makes of a table that the pattern's own programs made one that they and Leasehold share. Its
// locks stay. Throws StoreFault with the reason, before anything is changed, if a value does not
// fit.
//
// 1. Compare all columns, keys and values with what Leasehold needs.
// 2. Bring the texts to UTF-8. The table is still the pattern's, so this can run again.
// 3. In one statement: texts to bytes, the expiry to a date with microseconds in the zone of the
//    session, and Leasehold's columns.
void adopt_the_patterns_table(Link& link);

}  // namespace leasehold::mariadb
