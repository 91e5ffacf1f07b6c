#pragma once

#include <memory>

#include <leasehold/protection.hpp>

#include "stores/mariadb/connection.hpp"

namespace leasehold::mariadb {

[[nodiscard]] std::unique_ptr<TableProtection> open_protection(const Dialect& dialect,
                                                               const Login& connection,
                                                               const StoreOptions& options);

}  // namespace leasehold::mariadb
