#pragma once

#include <memory>

#include "core/lock_tables.hpp"
#include "core/schema.hpp"
#include "stores/mariadb/connection.hpp"

namespace leasehold::mariadb {

// The types of added columns. A step may run again where it was interrupted.
inline constexpr ColumnTypes column_types{.add = "add column if not exists",
                                          .text = "varbinary({bytes}) not null default ''",
                                          .integer = "bigint not null default 0",
                                          .time = "bigint not null default 0"};

// The steps that were released.
[[nodiscard]] const SchemaSteps& schema_steps();

// Makes or migrates the tables in the connection's database. Refuses a newer schema, and a table
// `locks` that Leasehold did not make.
void migrate(Link& link, const SchemaSteps& steps);

// open() with other steps than the released ones, as a later version has them.
[[nodiscard]] std::unique_ptr<Store> open_with(const SchemaSteps& steps, const Login& connection,
                                               const StoreOptions& options);

}  // namespace leasehold::mariadb
