#pragma once

#include <leasehold/protection.hpp>

#include "database/connection.hpp"

namespace customers {

// Makes the tables where they are missing.
void make_tables(database::Connection& connection);

// Something to look at, where there is nothing yet.
void add_sample_data(database::Connection& connection);

// Lets the database demand the lock of a record, and of the record that a row is a part of.
void protect_tables(leasehold::TableProtection& protection);

}  // namespace customers
