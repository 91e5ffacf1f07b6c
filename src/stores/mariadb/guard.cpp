#include <leasehold/stores/mariadb.hpp>

#include <mysql.h>
#include <mysqld_error.h>

#include <algorithm>
#include <optional>

#include "core/columns.hpp"
#include "core/guarded.hpp"
#include "stores/mariadb/connection.hpp"
#include "stores/mariadb/guard.hpp"
#include "stores/mariadb/rows.hpp"
#include "stores/mariadb/schema.hpp"

// Everything here runs in the caller's transaction, under the caller's settings and isolation
// level. It must neither wait for a row (a deadlock would cost the caller the transaction) nor lock
// a gap (which InnoDB does for a locking read that finds nothing): so it looks first, and locks
// only a row that is there, without waiting.
namespace leasehold::mariadb {
namespace {

// The caller's connection, and what is known of it.
struct Caller {
    const Dialect& dialect;
    ::st_mysql* connection;
    // At the end of a plain read. MySQL has no setting that keeps a read from waiting. Under
    // SERIALIZABLE a plain read locks rows and waits.
    std::string_view without_waiting = "";
};

void require_transaction(const Caller& caller) {
    unsigned status = 0;
    mariadb_get_infov(caller.connection, MARIADB_CONNECTION_SERVER_STATUS, &status);
    if ((status & SERVER_STATUS_IN_TRANS) != 0 || (status & SERVER_STATUS_AUTOCOMMIT) == 0) return;
    refuse(caller.dialect, "guard needs an open transaction; begin one with START TRANSACTION");
}

// Throws if the server has rolled the transaction back: writes after that would not be guarded.
void require_that_it_lives(const Caller& caller, const SqlError& error) {
    if (!error.ends_transaction() && in_transaction(caller.dialect, caller.connection)) return;
    throw StoreFault{
        StoreFault::Effect::none, StoreFault::Cause::unavailable,
        std::string{caller.dialect.name} +
            ": the server has rolled your transaction back, begin it again: " + error.what()};
}

// Runs a statement that must not wait, with settings for it alone.
std::vector<ResultSet> run_undisturbed(const Caller& caller, const std::string& statement) {
    return run(caller.dialect, caller.connection,
               std::string{caller.dialect.undisturbed} + statement);
}

std::vector<ResultSet> read_undisturbed(const Caller& caller, const std::string& query) {
    return run_undisturbed(caller, query + std::string{caller.without_waiting});
}

std::string_view needed_not_to_wait(const Dialect& dialect, ::st_mysql* connection) {
    if (dialect.no_wait == Dialect::NoWait::by_setting) return "";
    auto isolation = run(dialect, connection, "select @@transaction_isolation");
    const bool serializable =
        isolation.front().next() && isolation.front().text(0) == "SERIALIZABLE";
    return serializable ? " for share nowait" : "";
}

enum class Locking { shared, exclusive };

// A query with a locking clause that skips a row which another transaction has locked.
std::vector<ResultSet> select(const Caller& caller, const std::string& query, Locking locking) {
    return run(caller.dialect, caller.connection,
               std::string{caller.dialect.for_skip_locked} + query +
                   std::string{locking == Locking::shared ? caller.dialect.for_share_skip_locked
                                                          : " for update skip locked"});
}

struct Reading {
    Time now;
    bool has_protected_tables;
};

Reading read_clock(const Caller& caller) {
    auto now =
        run_undisturbed(caller, clock_query(caller.dialect.clock_hint) +
                                    ", exists (select 1 from leasehold where name = 'protected')");
    now.front().next();
    require_version(caller.dialect.name, static_cast<std::size_t>(now.front().integer(2)),
                    schema_steps(caller.dialect).size());
    return {std::max(time_from(now.front().integer(0)), time_from(now.front().integer(1))),
            now.front().integer(3) != 0};
}
Time clock(const Caller& caller) {
    return read_clock(caller).now;
}

std::string where(const LockKey& key) {
    return " where type = " + literal(key.type()) + " and id = " + literal(key.id());
}

std::optional<LockRow> find_row(const Caller& caller, const LockKey& key, Locking locking) {
    auto found = select(caller,
                        "select " + lock_names(lock_columns, callers_zone) +
                            " from locks force index (primary)" + where(key),
                        locking);
    if (!found.front().next()) return std::nullopt;
    return lock_row_at(found.front(), 0U);
}

std::optional<Grant> find_share(const Caller& caller, const LockKey& key, LockId lock_id) {
    auto found =
        select(caller,
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
Slot look_and_lock(const Caller& caller, const LockKey& key, LockId lock_id) {
    Slot slot{.key = key, .intent = Slot::Intent::change};
    const LockKey* const keys = &key;
    // One statement reads both tables: a lease that is being converted is in one of them at any
    // time.
    auto seen = read_undisturbed(caller, select_with_share({&keys, 1}, lock_id));
    if (!seen.front().next()) return slot;
    slot.state = Slot::State::ours;
    slot.row = lock_row_at(seen.front(), 2U);
    const bool share_seen = !seen.front().is_null(first_share_column);
    if (!share_seen && !is_exclusive(slot.row, lock_id)) return slot;

    // The lease may have been converted in the meantime: the locked row decides.
    auto row = find_row(caller, key, share_seen ? Locking::shared : Locking::exclusive);
    if (share_seen && row && is_exclusive(*row, lock_id)) {
        row = find_row(caller, key, Locking::exclusive);
    }
    if (row && is_shared(*row)) {
        if (auto share = find_share(caller, key, lock_id)) {
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

std::optional<Ended> find_past(const Caller& caller, LockId lock_id) {
    auto found = read_undisturbed(caller, select_past({&lock_id, 1}));
    if (!found.front().next()) return std::nullopt;
    return ended_at(found.front(), 0U);
}

// Calls `decide` once the lease is locked, and reads the clock after that.
template <class Decide>
Result<Lease> judge(Caller& caller, const LockKey& key, LockId lock_id, Duration busy_patience,
                    Decide decide) {
    require_transaction(caller);
    caller.without_waiting = needed_not_to_wait(caller.dialect, caller.connection);
    const PastLookup past = [&](LockId id) { return find_past(caller, id); };
    for (Retry retry = guard_attempts(busy_patience);;) {
        try {
            Slot slot = look_and_lock(caller, key, lock_id);
            slot.cell = cell_of(slot.row, slot.shares);
            if (slot.state != Slot::State::blocked) return decide(slot, read_clock(caller), past);
        } catch (const SqlError& error) {
            if (!error.is_conflict()) {
                // A later version may have changed the tables so that this is not understood.
                if (error.cause() == StoreFault::Cause::configuration) (void)clock(caller);
                throw;
            }
            require_that_it_lives(caller, error);
        }
        if (!retry.pause()) return busy_guarded(clock(caller));
    }
}

// The triggers of protected tables go by what this function writes. (DO would hide its errors.)
void present(const Caller& caller, const LockKey& key, LockId lock_id) {
    (void)run(caller.dialect, caller.connection,
              "select leasehold_guard(" + literal(key.type()) + ", " + literal(key.id()) + ", " +
                  literal(lock_id.to_string()) + ")");
}

}  // namespace

Result<Lease> guard(const Dialect& dialect, ::st_mysql* transaction, const LockKey& key,
                    LockId lock_id, Duration busy_patience) {
    Caller caller{.dialect = dialect, .connection = transaction};
    return judge(
        caller, key, lock_id, busy_patience,
        [&](const Slot& slot, const Reading& reading, const PastLookup& past) {
            auto lease = check_guarded(slot, lock_id, reading.now, past);
            if (!lease || lease->mode != Mode::exclusive || !reading.has_protected_tables) {
                return lease;
            }
            try {
                present(caller, key, lock_id);
            } catch (const SqlError& error) {
                if (error.number() != ER_SIGNAL_EXCEPTION) throw;
                // It expired after it was checked, or this is another error.
                lease = check_guarded(slot, lock_id, read_clock(caller).now, past);
                if (lease) throw;
            }
            return lease;
        });
}

Result<Lease> release(const Dialect& dialect, ::st_mysql* transaction, const LockKey& key,
                      LockId lock_id, Duration busy_patience) {
    Caller caller{.dialect = dialect, .connection = transaction};
    return judge(caller, key, lock_id, busy_patience,
                 [&](Slot& slot, const Reading& reading, const PastLookup& past) {
                     std::vector<Ended> endings;
                     auto released = release_guarded(slot, lock_id, reading.now, past, endings);
                     if (!released) return released;
                     // The history first: the rows written after it are locked by us, so that
                     // writing them cannot fail because of others.
                     (void)run_undisturbed(caller, add_to_history(endings));
                     if (slot.shares.empty()) {
                         (void)run_undisturbed(caller, update_row({&slot.key, row_of(slot)}));
                     } else {
                         // The other shares are not known here, so the row that represents all of
                         // them is not changed.
                         const KeyedId share{&slot.key, lock_id};
                         (void)run_undisturbed(caller, delete_shares({&share, 1}));
                     }
                     return released;
                 });
}

Result<Lease> guard(::st_mysql* transaction, const LockKey& key, LockId lock_id,
                    Duration busy_patience) {
    return guard(mariadb_dialect, transaction, key, lock_id, busy_patience);
}

Result<Lease> release(::st_mysql* transaction, const LockKey& key, LockId lock_id,
                      Duration busy_patience) {
    return release(mariadb_dialect, transaction, key, lock_id, busy_patience);
}

}  // namespace leasehold::mariadb
