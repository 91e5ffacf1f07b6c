#pragma once

#include <functional>
#include <memory>
#include <string>

#include <leasehold/store.hpp>

#include "core/lock_tables.hpp"
#include "core/schema.hpp"

struct sqlite3;

namespace leasehold::sqlite {

// The types of added columns.
inline constexpr ColumnTypes column_types{.text = "text not null default ''",
                                          .integer = "integer not null default 0",
                                          .time = "integer not null default 0"};

// The steps that were released.
[[nodiscard]] const SchemaSteps& schema_steps();

// Makes or migrates the tables. Refuses a newer schema, and a table `locks` that Leasehold did not
// make.
void migrate(::sqlite3* db, const SchemaSteps& steps);

// open() with other steps than the released ones, as a later version has them.
[[nodiscard]] std::unique_ptr<Store> open_with(const SchemaSteps& steps, const std::string& path,
                                               const StoreOptions& options,
                                               std::function<Time()> clock = {});

}  // namespace leasehold::sqlite
