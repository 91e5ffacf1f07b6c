#pragma once

#include <functional>
#include <memory>
#include <string>

#include <leasehold/lease.hpp>
#include <leasehold/limits.hpp>
#include <leasehold/protection.hpp>
#include <leasehold/store.hpp>

struct sqlite3;

namespace leasehold::sqlite {

// Leases in an SQLite file. `clock` is the machine's clock by default; tests pass their own.
[[nodiscard]] std::unique_ptr<Store> open(const std::string& path, StoreOptions options = {},
                                          std::function<Time()> clock = {});

// Checks, in the caller's own transaction on the same file, that the lease is alive. If it is,
// nobody can take the key before the transaction ends. A refusal leaves the transaction as it was.
// While another transaction writes to the file, the guard tries again for `busy_patience`, and is
// then refused as busy.
// SQLite has one writer at a time: begin the transaction with BEGIN IMMEDIATE and keep it short.
// Throws StoreFault outside a transaction, and if SQLite reports an error.
[[nodiscard]] Result<Lease> guard(::sqlite3* transaction, const LockKey& key, LockId lock_id,
                                  Duration busy_patience = Limits{}.busy_patience);

// Ends the lease when the caller's transaction commits. If it is rolled back, the lease lives on.
Result<Lease> release(::sqlite3* transaction, const LockKey& key, LockId lock_id,
                      Duration busy_patience = Limits{}.busy_patience);

// Protects tables of this file.
[[nodiscard]] std::unique_ptr<TableProtection> open_protection(const std::string& path,
                                                               const StoreOptions& options = {});

}  // namespace leasehold::sqlite
