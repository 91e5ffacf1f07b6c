#pragma once

#include <string>

#include <leasehold/store.hpp>

struct pg_conn;

namespace leasehold::postgres {

// Makes or migrates the tables in the current schema. Two processes may do it at once. Takes over a
// table `locks` with just the pattern's four columns; refuses any other, and a newer schema.
void migrate(::pg_conn* connection);

// Runs a script of statements without parameters; throws StoreFault(configuration).
void execute(::pg_conn* connection, const std::string& sql);

// What the server's settings mean for durability.
[[nodiscard]] StoreStatus read_status(::pg_conn* connection);

}  // namespace leasehold::postgres
