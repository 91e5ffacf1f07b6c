#pragma once

#include <memory>
#include <string>

#include <leasehold/lease.hpp>
#include <leasehold/store.hpp>

// libpq's PGconn
struct pg_conn;

namespace leasehold::postgres {

// Leases in a PostgreSQL database. `conninfo` is anything libpq takes.
[[nodiscard]] std::unique_ptr<Store> open(const std::string& conninfo, StoreOptions options = {});

// In the caller's own transaction on the same database: is the lease alive? Once this succeeds
// nobody can take the key before the transaction ends. A refusal leaves the transaction as it was.
// Under REPEATABLE READ and above call it first, before anything has been read.
// Throws StoreFault outside a transaction and where PostgreSQL reports an error; the transaction
// stays usable even then, unless the connection is gone.
[[nodiscard]] Result<Lease> guard(::pg_conn* transaction, const LockKey& key, LockId lock_id);

// Ends the lease with the caller's transaction: if that is rolled back, the lease lives on.
Result<Lease> release(::pg_conn* transaction, const LockKey& key, LockId lock_id);

}  // namespace leasehold::postgres
