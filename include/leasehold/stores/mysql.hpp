#pragma once

#include <memory>

#include <leasehold/stores/mariadb.hpp>

namespace leasehold::mysql {

// With `caching_sha2_password`, MySQL's default, a login without TLS asks the server for its public
// key and encrypts the password with it. Somebody who can change the traffic can put another key in
// its place: use tls across a network that you do not trust.
using mariadb::Login;

// Leases in a MySQL database, 8.0.23 or later.
[[nodiscard]] std::unique_ptr<Store> open(const Login& connection, StoreOptions options = {});

// Checks, in the caller's own transaction on the same database, that the lease is alive. If it is,
// nobody can take the key before the transaction ends. A refusal leaves the transaction as it was.
// While another transaction has locked the lease, the guard tries again for `busy_patience`, and is
// then refused as busy. The connection is one of MariaDB Connector/C.
// Throws StoreFault outside a transaction, and if MySQL reports an error.
[[nodiscard]] Result<Lease> guard(::st_mysql* transaction, const LockKey& key, LockId lock_id,
                                  Duration busy_patience = Limits{}.busy_patience);

// Ends the lease when the caller's transaction commits. If it is rolled back, the lease lives on.
Result<Lease> release(::st_mysql* transaction, const LockKey& key, LockId lock_id,
                      Duration busy_patience = Limits{}.busy_patience);

// Protects tables of this database. The user needs the rights TRIGGER, CREATE, CREATE ROUTINE,
// ALTER ROUTINE and REFERENCES, and SELECT on performance_schema.
[[nodiscard]] std::unique_ptr<TableProtection> open_protection(const Login& connection,
                                                               const StoreOptions& options = {});

}  // namespace leasehold::mysql
