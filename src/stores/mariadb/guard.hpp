#pragma once

#include <leasehold/stores/mariadb.hpp>

#include "stores/mariadb/dialect.hpp"

namespace leasehold::mariadb {

// guard() and release() of the public headers, on either server.
[[nodiscard]] Result<Lease> guard(const Dialect& dialect, ::st_mysql* transaction,
                                  const LockKey& key, LockId lock_id, Duration busy_patience);
Result<Lease> release(const Dialect& dialect, ::st_mysql* transaction, const LockKey& key,
                      LockId lock_id, Duration busy_patience);

}  // namespace leasehold::mariadb
