#pragma once

#include "stores/postgres/schema.hpp"

namespace leasehold::postgres {

// Prepares a table `locks` that the pattern's own programs made for the first schema step, in the
// transaction that is open. Does nothing without such a table.
//
// 1. Refuse a table with other columns than the pattern's: type, id, lockid, expiration_time.
// 2. Refuse times without a zone unless the options say to adopt the table.
// 3. Lock the table. Compare its types, its key and its values with what Leasehold needs. Throw
//    StoreFault with the reason if something does not fit.
// 4. Convert other times to times with a zone.
void adopt_the_patterns_table(Conversation& talk, const StoreOptions& options);

}  // namespace leasehold::postgres
