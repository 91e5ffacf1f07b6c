#pragma once

struct sqlite3;

namespace leasehold::sqlite {

// Makes or migrates the tables. Two processes may do it at once. Refuses a newer schema, and a
// table `locks` that Leasehold did not make.
void migrate(::sqlite3* db);

}  // namespace leasehold::sqlite
