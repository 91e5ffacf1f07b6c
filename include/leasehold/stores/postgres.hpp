#pragma once

#include <memory>
#include <string>

#include <leasehold/lease.hpp>
#include <leasehold/limits.hpp>
#include <leasehold/protection.hpp>
#include <leasehold/store.hpp>

// libpq's PGconn
struct pg_conn;

namespace leasehold::postgres {

// Leases in a PostgreSQL database. `conninfo` is any connection string that libpq takes.
[[nodiscard]] std::unique_ptr<Store> open(const std::string& conninfo, StoreOptions options = {});

// Checks, in the caller's own transaction on the same database, that the lease is alive. If it is,
// nobody can take the key before the transaction ends. A refusal leaves the transaction as it was.
// While another transaction has locked the lease, the guard tries again for `busy_patience`, and is
// then refused as busy.
// Under REPEATABLE READ and above, call it before the transaction reads anything else.
// Throws StoreFault outside a transaction, and if PostgreSQL reports an error; the transaction
// stays usable even then, unless the connection is lost.
[[nodiscard]] Result<Lease> guard(::pg_conn* transaction, const LockKey& key, LockId lock_id,
                                  Duration busy_patience = Limits{}.busy_patience);

// Ends the lease when the caller's transaction commits. If it is rolled back, the lease lives on.
Result<Lease> release(::pg_conn* transaction, const LockKey& key, LockId lock_id,
                      Duration busy_patience = Limits{}.busy_patience);

// Wakes other processes that wait for the key. Call it after the transaction that released the
// lease has committed, outside of a transaction: it sends a NOTIFY in one of its own, if anybody
// waits. Without it, they learn of the release up to half a second later. For callers that wait in
// this process there is LockManager::wake_waiters(). Throws StoreFault inside a transaction and if
// the connection is lost.
void wake_waiters(::pg_conn* connection, const LockKey& key);

// Protects tables of this database. The role must own the store's tables, and needs the right
// TRIGGER on a table to protect it.
[[nodiscard]] std::unique_ptr<TableProtection> open_protection(const std::string& conninfo,
                                                               const StoreOptions& options = {});

}  // namespace leasehold::postgres
