#pragma once

#include <leasehold/protection.hpp>

#include "database/connection.hpp"

namespace customers {

// The ids of the one price list and the one counter there are.
inline constexpr const char* standard_prices = "standard";
inline constexpr const char* invoice_numbers = "invoice";

// Makes the tables where they are missing.
void make_tables(database::Connection& connection);

// Something to look at, where there is nothing yet.
void add_sample_data(database::Connection& connection);

// Lets the database demand the lock of an object, and of the object that a row is a part of.
void protect_tables(leasehold::TableProtection& protection);

}  // namespace customers
