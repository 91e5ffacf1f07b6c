#pragma once

#include <leasehold/lock_id.hpp>

struct sqlite3;

namespace leasehold::sqlite {

// How a transaction shows that it has presented a lease: by a row of the table `lock_presented`,
// which the triggers of protected tables read. No other connection ever sees the row: it is written
// through the virtual table `leasehold_presented`, which SQLite tells about the end of every
// transaction that wrote to it, and which removes the rows before they are committed. A rollback,
// to a savepoint too, removes them by itself.
//
// Does nothing if no table of the file is protected. The connection must be in a transaction.
// Throws StoreFault.
void present(::sqlite3* db, LockId lock_id);

}  // namespace leasehold::sqlite
