#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <leasehold/lease.hpp>
#include <leasehold/store.hpp>

// Connector/C's MYSQL
struct st_mysql;

namespace leasehold::mariadb {

struct Connection {
    std::string host = "127.0.0.1";
    std::uint16_t port = 3306;
    std::string user{};
    std::string password{};
    std::string database{};
    std::string socket{};  // a path; where set, host and port are not used
};

// Leases in a MariaDB database, 10.11 or later.
[[nodiscard]] std::unique_ptr<Store> open(const Connection& connection, StoreOptions options = {});

// In the caller's own transaction on the same database: is the lease alive? Once this succeeds
// nobody can take the key before the transaction ends. A refusal leaves the transaction as it was.
// Throws StoreFault outside a transaction and where MariaDB reports an error.
[[nodiscard]] Result<Lease> guard(::st_mysql* transaction, const LockKey& key, LockId lock_id);

// Ends the lease with the caller's transaction: if that is rolled back, the lease lives on.
Result<Lease> release(::st_mysql* transaction, const LockKey& key, LockId lock_id);

}  // namespace leasehold::mariadb
