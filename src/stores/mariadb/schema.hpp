#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/lock_tables.hpp"
#include "core/schema.hpp"
#include "stores/mariadb/connection.hpp"

namespace leasehold::mariadb {

// The steps that were released.
[[nodiscard]] const SchemaSteps& schema_steps(const Dialect& dialect);

// Makes or migrates the tables in the connection's database. Refuses a newer schema, a table
// `locks` that Leasehold did not make and is not told to adopt, and another time zone than the
// tables have.
void migrate(Link& link, const SchemaSteps& steps, const StoreOptions& options);

// Programs that share table `locks` and write dates of another zone than the store's: west of it,
// their locks have ended when they are made; east of it, they are hours too long. Needs
// @leasehold_zone.
[[nodiscard]] std::vector<std::string> warnings_of_other_zones(Link& link);

// Why the server's clock cannot judge leases, or nothing.
[[nodiscard]] std::string unfitness_of_clock(Link& link);

// open() with other steps than the released ones, as a later version has them.
[[nodiscard]] std::unique_ptr<Store> open_with(const Dialect& dialect, const SchemaSteps& steps,
                                               const Login& connection,
                                               const StoreOptions& options);

}  // namespace leasehold::mariadb
