#include <leasehold/stores/mariadb.hpp>

#include <mysql.h>

#include <algorithm>
#include <optional>

#include "core/columns.hpp"
#include "core/guarded.hpp"
#include "stores/mariadb/connection.hpp"
#include "stores/mariadb/rows.hpp"
#include "stores/mariadb/schema.hpp"

// Everything here runs in the caller's transaction, under the caller's settings and isolation
// level. It must neither wait for a row (a deadlock would cost the caller the transaction) nor lock
// a gap (which InnoDB does for a locking read that finds nothing): so it looks first, and locks
// only a row that is there, without waiting.
namespace leasehold::mariadb {
namespace {

void require_transaction(::st_mysql* connection) {
    unsigned status = 0;
    mariadb_get_infov(connection, MARIADB_CONNECTION_SERVER_STATUS, &status);
    if ((status & SERVER_STATUS_IN_TRANS) != 0 || (status & SERVER_STATUS_AUTOCOMMIT) == 0) return;
    throw StoreFault{StoreFault::Effect::none, StoreFault::Cause::configuration,
                     "mariadb: guard needs an open transaction; begin one with START TRANSACTION"};
}

// Throws if the server has rolled the transaction back: writes after that would not be guarded.
void require_that_it_lives(::st_mysql* connection, const SqlError& error) {
    bool alive = !error.ends_transaction();
    if (alive) {
        auto state = run(connection, "select @@in_transaction");
        alive = state.front().next() && state.front().integer(0) == 1;
    }
    if (alive) return;
    throw StoreFault{StoreFault::Effect::none, StoreFault::Cause::unavailable,
                     std::string{"mariadb: the server has rolled your transaction back, begin it "
                                 "again: "} +
                         error.what()};
}

// Runs a statement with settings for it alone. It must not wait: under SERIALIZABLE even a plain
// read locks rows.
std::vector<ResultSet> run_undisturbed(::st_mysql* connection, const std::string& statement) {
    return run(connection,
               "set statement innodb_lock_wait_timeout = 0, time_zone = '+00:00' for " + statement);
}

enum class Locking { shared, exclusive };

// A query with a locking clause that skips a row which another transaction has locked.
std::vector<ResultSet> select(::st_mysql* connection, const std::string& query, Locking locking) {
    return run(connection,
               std::string{for_skip_locked} + query +
                   (locking == Locking::shared ? " lock in share mode" : " for update") +
                   " skip locked");
}

Time clock(::st_mysql* connection) {
    auto now = run_undisturbed(connection, std::string{clock_query});
    now.front().next();
    require_version("mariadb", static_cast<std::size_t>(now.front().integer(2)),
                    schema_steps().size());
    return std::max(time_from(now.front().integer(0)), time_from(now.front().integer(1)));
}

std::string where(const LockKey& key) {
    return " where type = " + literal(key.type()) + " and id = " + literal(key.id());
}

std::optional<LockRow> find_row(::st_mysql* connection, const LockKey& key, Locking locking) {
    auto found = select(
        connection,
        "select " + names_of(lock_columns) + " from locks force index (primary)" + where(key),
        locking);
    if (!found.front().next()) return std::nullopt;
    return lock_row_at(found.front(), 0U);
}

std::optional<Grant> find_share(::st_mysql* connection, const LockKey& key, LockId lock_id) {
    auto found =
        select(connection,
               "select " + names_of(share_columns) + " from lock_shares force index (primary)" +
                   where(key) + " and lockid = " + literal(lock_id.to_string()),
               Locking::exclusive);
    if (!found.front().next()) return std::nullopt;
    return share_at(found.front(), 0U);
}

bool is_shared(const LockRow& row) {
    return row.mode == Mode::shared && row.ended == Gone::unknown;
}

bool is_exclusive(const LockRow& row, LockId lock_id) {
    return row.mode == Mode::exclusive && row.ended == Gone::unknown && row.lock_id == lock_id;
}

// The slot with the key's row and, if the lease is shared, with this share only. Locks the row if
// the lease is there; `blocked` if another transaction has locked it.
Slot look_and_lock(::st_mysql* connection, const LockKey& key, LockId lock_id) {
    Slot slot{.key = key, .intent = Slot::Intent::change};
    const LockKey* const keys = &key;
    // One statement reads both tables: a lease that is being converted is in one of them at any
    // time.
    auto seen = run_undisturbed(connection, select_with_share({&keys, 1}, lock_id));
    if (!seen.front().next()) return slot;
    slot.state = Slot::State::ours;
    slot.row = lock_row_at(seen.front(), 2U);
    const bool share_seen = !seen.front().is_null(first_share_column);
    if (!share_seen && !is_exclusive(slot.row, lock_id)) return slot;

    // The lease may have been converted in the meantime: the locked row decides.
    auto row = find_row(connection, key, share_seen ? Locking::shared : Locking::exclusive);
    if (share_seen && row && is_exclusive(*row, lock_id)) {
        row = find_row(connection, key, Locking::exclusive);
    }
    if (row && is_shared(*row)) {
        if (auto share = find_share(connection, key, lock_id)) {
            slot.shares.push_back(*std::move(share));
        } else {
            row.reset();
        }
    }
    if (row) {
        slot.row = *std::move(row);
    } else {
        slot.state = Slot::State::blocked;
    }
    return slot;
}

std::optional<Ended> find_past(::st_mysql* connection, LockId lock_id) {
    auto found = run_undisturbed(connection, select_past({&lock_id, 1}));
    if (!found.front().next()) return std::nullopt;
    return ended_at(found.front(), 0U);
}

// Calls `decide` once the lease is locked, and reads the clock after that.
template <class Decide>
Result<Lease> judge(::st_mysql* connection, const LockKey& key, LockId lock_id,
                    Duration busy_patience, Decide decide) {
    require_transaction(connection);
    const PastLookup past = [&](LockId id) { return find_past(connection, id); };
    for (Retry retry = guard_attempts(busy_patience);;) {
        try {
            Slot slot = look_and_lock(connection, key, lock_id);
            slot.cell = cell_of(slot.row, slot.shares);
            if (slot.state != Slot::State::blocked) return decide(slot, clock(connection), past);
        } catch (const SqlError& error) {
            if (!error.is_conflict()) {
                // A later version may have changed the tables so that this is not understood.
                if (error.cause() == StoreFault::Cause::configuration) (void)clock(connection);
                throw;
            }
            require_that_it_lives(connection, error);
        }
        if (!retry.pause()) return busy_guarded(clock(connection));
    }
}

}  // namespace

Result<Lease> guard(::st_mysql* transaction, const LockKey& key, LockId lock_id,
                    Duration busy_patience) {
    return judge(transaction, key, lock_id, busy_patience,
                 [&](const Slot& slot, Time now, const PastLookup& past) {
                     return check_guarded(slot, lock_id, now, past);
                 });
}

Result<Lease> release(::st_mysql* transaction, const LockKey& key, LockId lock_id,
                      Duration busy_patience) {
    return judge(transaction, key, lock_id, busy_patience,
                 [&](Slot& slot, Time now, const PastLookup& past) {
                     std::vector<Ended> endings;
                     auto released = release_guarded(slot, lock_id, now, past, endings);
                     if (!released) return released;
                     // The history first: the rows written after it are locked by us, so that
                     // writing them cannot fail because of others.
                     (void)run_undisturbed(transaction, add_to_history(endings));
                     if (slot.shares.empty()) {
                         const KeyedRow row{&slot.key, row_of(slot)};
                         (void)run_undisturbed(transaction, overwrite_rows({&row, 1}));
                     } else {
                         // The other shares are not known here, so the row that represents all of
                         // them is not changed.
                         const KeyedId share{&slot.key, lock_id};
                         (void)run_undisturbed(transaction, delete_shares({&share, 1}));
                     }
                     return released;
                 });
}

}  // namespace leasehold::mariadb
