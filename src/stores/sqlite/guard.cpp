#include <leasehold/stores/sqlite.hpp>

#include <sqlite3.h>

#include <algorithm>

#include "core/guarded.hpp"
#include "stores/sqlite/database.hpp"
#include "stores/sqlite/presenting.hpp"
#include "stores/sqlite/rows.hpp"
#include "stores/sqlite/schema.hpp"

namespace leasehold::sqlite {
namespace {

void require_transaction(::sqlite3* db) {
    if (sqlite3_get_autocommit(db) == 0) return;
    throw StoreFault{StoreFault::Effect::none, StoreFault::Cause::configuration,
                     "sqlite: guard needs an open transaction; begin one with BEGIN IMMEDIATE"};
}

// Makes the transaction the file's one writer, if it is not already. False if another transaction
// stays the writer for longer than the patience, or has written since this transaction first read.
bool become_the_writer(::sqlite3* db, Duration busy_patience) {
    for (Retry retry = guard_attempts(busy_patience);;) {
        Statement write_nothing{db, "update leasehold set value = value where false"};
        const int code = write_nothing.step_code();
        if (code == SQLITE_DONE) return true;
        if ((code & 0xFF) != SQLITE_BUSY) fail(db, StoreFault::Effect::none, "guard");
        if (sqlite3_extended_errcode(db) == SQLITE_BUSY_SNAPSHOT || !retry.pause()) return false;
    }
}

Slot slot_of(const LockKey& key, const Known& known) {
    Slot slot{.key = key, .intent = Slot::Intent::change};
    if (known.rowid != 0) {
        slot.state = Slot::State::ours;
        slot.row = known.row;
        slot.shares = known.shares;
        slot.cell = cell_of(slot.row, slot.shares);
    }
    return slot;
}

Time clock(Rows& rows) {
    return std::max(std::chrono::floor<Duration>(std::chrono::system_clock::now()),
                    rows.snapshot().floor);
}

}  // namespace

Result<Lease> guard(::sqlite3* transaction, const LockKey& key, LockId lock_id,
                    Duration busy_patience) {
    require_transaction(transaction);
    Rows rows{transaction, schema_steps().size()};
    if (!become_the_writer(transaction, busy_patience)) return busy_guarded(clock(rows));
    const Time now = clock(rows);
    const Slot slot = slot_of(key, rows.find(key));
    auto lease = check_guarded(slot, lock_id, now, [&](LockId id) { return rows.find_past(id); });
    if (lease && lease->mode == Mode::exclusive) present(transaction, lock_id);
    return lease;
}

Result<Lease> release(::sqlite3* transaction, const LockKey& key, LockId lock_id,
                      Duration busy_patience) {
    require_transaction(transaction);
    Rows rows{transaction, schema_steps().size()};
    if (!become_the_writer(transaction, busy_patience)) return busy_guarded(clock(rows));
    const Time now = clock(rows);
    Known known = rows.find(key);
    Slot slot = slot_of(key, known);
    std::vector<Ended> endings;
    auto released =
        release_guarded(slot, lock_id, now, [&](LockId id) { return rows.find_past(id); }, endings);
    if (!released) return released;
    for (const Ended& ended : endings) rows.add_to_history(ended, known);
    rows.write(slot, known);
    return released;
}

}  // namespace leasehold::sqlite
