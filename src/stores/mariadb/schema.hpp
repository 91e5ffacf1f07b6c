#pragma once

#include "stores/mariadb/connection.hpp"

namespace leasehold::mariadb {

// Makes or migrates the tables in the connection's database. Two processes may do it at once.
// Refuses a newer schema, and a table `locks` that Leasehold did not make.
void migrate(Link& link);

}  // namespace leasehold::mariadb
