#pragma once

#include <memory>

#include "core/lane_store.hpp"
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

// open() with other steps than the released ones, as a later version has them, or with other lanes.
[[nodiscard]] std::unique_ptr<Store> open_with(const Dialect& dialect, const SchemaSteps& steps,
                                               const Login& connection,
                                               const StoreOptions& options,
                                               const LaneOptions& lanes = {});

}  // namespace leasehold::mariadb
