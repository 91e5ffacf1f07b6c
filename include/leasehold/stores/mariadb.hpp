#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <leasehold/lease.hpp>
#include <leasehold/limits.hpp>
#include <leasehold/protection.hpp>
#include <leasehold/store.hpp>

// Connector/C's MYSQL
struct st_mysql;

namespace leasehold::mariadb {

struct Login {
    std::string host = "127.0.0.1";
    std::uint16_t port = 3306;
    std::string user{};
    std::string password{};
    std::string database{};
    std::string socket{};  // a path; if set, host and port are not used

    // verify_full: TLS 1.2 or later, or no connection. The server's certificate must have the
    // host's name, and must be signed by an authority that `ca_file` or the system names.
    enum class Tls : std::uint8_t { off, verify_full };
    Tls tls = Tls::off;
    std::string ca_file{};
};

// Leases in a MariaDB database, 10.11 or later.
[[nodiscard]] std::unique_ptr<Store> open(const Login& connection, StoreOptions options = {});

// Checks, in the caller's own transaction on the same database, that the lease is alive. If it is,
// nobody can take the key before the transaction ends. A refusal leaves the transaction as it was.
// While another transaction has locked the lease, the guard tries again for `busy_patience`, and is
// then refused as busy.
// Throws StoreFault outside a transaction, and if MariaDB reports an error.
[[nodiscard]] Result<Lease> guard(::st_mysql* transaction, const LockKey& key, LockId lock_id,
                                  Duration busy_patience = Limits{}.busy_patience);

// Ends the lease when the caller's transaction commits. If it is rolled back, the lease lives on.
Result<Lease> release(::st_mysql* transaction, const LockKey& key, LockId lock_id,
                      Duration busy_patience = Limits{}.busy_patience);

// Protects tables of this database. The user needs the rights TRIGGER, CREATE, CREATE ROUTINE and
// ALTER ROUTINE.
[[nodiscard]] std::unique_ptr<TableProtection> open_protection(const Login& connection,
                                                               const StoreOptions& options = {});

}  // namespace leasehold::mariadb
