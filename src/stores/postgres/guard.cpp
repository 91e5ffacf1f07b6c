#include <leasehold/stores/postgres.hpp>

#include <libpq-fe.h>

#include <algorithm>
#include <optional>

#include "core/guarded.hpp"
#include "core/retry.hpp"
#include "core/sql_text.hpp"
#include "stores/postgres/columns.hpp"
#include "stores/postgres/connection.hpp"
#include "stores/postgres/presenting.hpp"
#include "stores/postgres/schema.hpp"
#include "stores/postgres/statements.hpp"
#include "stores/postgres/waits.hpp"

namespace leasehold::postgres {
namespace {

constexpr const char* lock_not_available = "55P03";

[[noreturn]] void refuse(StoreFault::Cause cause, const std::string& why) {
    throw StoreFault{StoreFault::Effect::none, cause, "postgres: " + why};
}

// Statements in the caller's transaction. A failure is rolled back to a savepoint, so that it never
// leaves the transaction aborted.
class Guarded {
public:
    explicit Guarded(PGconn* connection) : connection_{connection} {
        if (PQpipelineStatus(connection) != PQ_PIPELINE_OFF) {
            refuse(StoreFault::Cause::configuration, "guard does not work in pipeline mode");
        }
        if (PQtransactionStatus(connection) != PQTRANS_INTRANS) {
            refuse(StoreFault::Cause::configuration,
                   "guard needs an open transaction that is not aborted");
        }
        command("savepoint leasehold_guard");
    }
    Guarded(const Guarded&) = delete;
    Guarded& operator=(const Guarded&) = delete;
    ~Guarded() {
        if (kept_ || PQstatus(connection_) != CONNECTION_OK) return;
        PQclear(PQexec(connection_,
                       "rollback to savepoint leasehold_guard; release savepoint leasehold_guard"));
    }

    // Makes the changes part of the caller's transaction.
    void keep() {
        command("release savepoint leasehold_guard");
        kept_ = true;
    }

    Rows run(const std::string& sql, const Parameters& parameters) {
        const Parameters::Bound bound = parameters.bound();
        PGresult* result =
            PQexecParams(connection_, sql.c_str(), bound.count(), nullptr, bound.values.data(),
                         bound.lengths.data(), bound.formats.data(), binary_format);
        Rows rows{result};
        const ExecStatusType status = PQresultStatus(result);
        if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) return rows;
        const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
        throw ServerError{state != nullptr ? state : "", PQresultErrorMessage(result)};
    }

private:
    void command(const char* sql) {
        const Rows done{PQexec(connection_, sql)};
        if (PQtransactionStatus(connection_) != PQTRANS_INTRANS) {
            refuse(StoreFault::Cause::unavailable, PQerrorMessage(connection_));
        }
    }

    PGconn* connection_;
    bool kept_ = false;
};

void require_our_version(std::int64_t found) {
    require_version("postgres", static_cast<std::size_t>(found), schema_steps().size());
}

struct Locked {
    Slot slot;
    Time clock;
};

// One statement of each kind for the caller's connection, which Leasehold does not prepare
// statements on. $1 and $2 are the key, $3 the lock id. Columns: lock_columns, the clock, the
// floor, the version. Presents an exclusive lease: triggers of a protected table let its holder
// write.
std::string lock_statement(Mode mode) {
    return sql_text(
        R"(
with l as materialized (
    select * from locks where type = $1::text and id = $2::text and {mode} for {strength} nowait)
select {columns}, clock_timestamp(), (select time_floor from leasehold),
       (select schema from leasehold), {presented}
from l)",
        // An unknown mode is read, too, and refused as unreadable.
        {{"mode", sql_text(mode == Mode::shared ? "mode = {shared}" : "mode <> {shared}")},
         {"strength", mode == Mode::exclusive ? "update" : "share"},
         {"presented",
          mode == Mode::exclusive ? sql_text(sql::present, {{"lock_id", "$3::text"}}) : "$3::text"},
         {"columns", names_of(lock_columns)}});
}
const std::string lock_exclusive = lock_statement(Mode::exclusive);
const std::string lock_shared = lock_statement(Mode::shared);
const std::string lock_share =
    "select " + names_of(share_columns) +
    " from lock_shares where type = $1::text and id = $2::text and lockid = $3::text for update "
    "nowait";
const std::string find_past =
    "select type, id, " + names_of(history_columns) +
    " from lock_history where lockid = $1::text order by seq desc limit 1";

// Locks the key's row against everybody who would take it. Holders of a shared lease can guard at
// the same time. The clock is read after the row was locked.
Locked lock(Guarded& tx, const LockKey& key, LockId lock_id) {
    Locked locked{.slot = {.key = key, .intent = Slot::Intent::change}, .clock = {}};
    const auto name = Parameters{}.text(key.type()).text(key.id());
    const auto lease = Parameters{name}.text(lock_id.to_string());
    Rows rows = tx.run(lock_exclusive, lease);
    if (rows.size() == 0) rows = tx.run(lock_shared, lease);
    if (rows.size() == 0) {
        const Rows clock = tx.run(
            "select clock_timestamp(), exists (select from locks where type = $1::text and id = "
            "$2::text), (select schema from leasehold)",
            name);
        require_our_version(clock.integer(0, 2));
        // The row was made, or converted to the other mode, between the two statements.
        if (clock.integer(0, 1) != 0) throw ServerError{lock_not_available, "the lease changed"};
        locked.clock = clock.time(0, 0);
        return locked;
    }
    constexpr int clock_column = count_of(lock_columns);
    require_our_version(rows.integer(0, clock_column + 2));
    Slot& slot = locked.slot;
    slot.state = Slot::State::ours;
    slot.row = lock_row_at(RowAt{rows, 0}, 0);
    locked.clock = std::max(rows.time(0, clock_column), rows.time(0, clock_column + 1));
    if (slot.row.mode == Mode::shared) {
        const Rows share = tx.run(lock_share, lease);
        if (share.size() > 0) slot.shares.push_back(share_at(RowAt{share, 0}, 0));
        locked.clock = std::max(locked.clock, tx.run("select clock_timestamp()", {}).time(0, 0));
    }
    slot.cell = cell_of(slot.row, slot.shares);
    return locked;
}

PastLookup past_in(Guarded& tx) {
    return [&tx](LockId id) -> std::optional<Ended> {
        const Rows rows = tx.run(find_past, Parameters{}.text(id.to_string()));
        return rows.size() == 0 ? std::nullopt : std::optional{ended_at(rows, 0)};
    };
}

// Writes the end of the lease. The row of a shared lease in `locks` is left as it is: others may be
// guarding it, and its expiry is corrected by the next change.
void write_released(Guarded& tx, const Slot& slot, const std::vector<Ended>& endings) {
    const Ending& ending = *endings.front().ending;
    const auto name = Parameters{}.text(slot.key.type()).text(slot.key.id());
    if (ending.grant.mode == Mode::shared) {
        tx.run(
            "delete from lock_shares where type = $1::text and id = $2::text and lockid = $3::text",
            Parameters{name}.text(ending.grant.lock_id.to_string()));
    } else {
        tx.run(
            "update locks set expiration_time = $3::timestamptz, touched_at = $3::timestamptz, "
            "ended_at = $3::timestamptz, ended = $4::bigint where type = $1::text and id = "
            "$2::text",
            Parameters{name}.time(ending.at).integer(number_of(ending.how)));
    }
    tx.run(sql::add_history,
           fields_of(endings, &Ended::key, history_columns,
                     [](const Ended& ended) -> const Ending& { return *ended.ending; }));
}

// Runs `work` in a savepoint, again and again while another transaction, a batch or another guard
// of the same lease, has locked the row.
template <class Work>
Result<Lease> in_savepoint(PGconn* connection, Duration busy_patience, Work work) {
    for (Retry retry = guard_attempts(busy_patience);;) {
        try {
            Guarded tx{connection};
            Result<Lease> result = work(tx);
            // A refusal gives up the row lock with the savepoint.
            if (result) tx.keep();
            return result;
        } catch (const ServerError& error) {
            if (error.state != lock_not_available) {
                if (may_come_from_another_schema(error)) {
                    Guarded tx{connection};
                    require_our_version(tx.run("select schema from leasehold", {}).integer(0, 0));
                }
                refuse(StoreFault::Cause::internal,
                       error.state == "40001"
                           ? "the lease changed after this transaction's snapshot "
                             "was taken: call guard before anything else in it"
                           : error.message);
            }
        }
        if (!retry.pause()) {
            Guarded tx{connection};
            return busy_guarded(tx.run("select clock_timestamp()", {}).time(0, 0));
        }
    }
}

}  // namespace

Result<Lease> guard(PGconn* transaction, const LockKey& key, LockId lock_id,
                    Duration busy_patience) {
    return in_savepoint(transaction, busy_patience, [&](Guarded& tx) {
        const Locked locked = lock(tx, key, lock_id);
        return check_guarded(locked.slot, lock_id, locked.clock, past_in(tx));
    });
}

Result<Lease> release(PGconn* transaction, const LockKey& key, LockId lock_id,
                      Duration busy_patience) {
    return in_savepoint(transaction, busy_patience, [&](Guarded& tx) {
        Locked locked = lock(tx, key, lock_id);
        std::vector<Ended> endings;
        auto released = release_guarded(locked.slot, lock_id, locked.clock, past_in(tx), endings);
        if (released) write_released(tx, locked.slot, endings);
        return released;
    });
}

void wake_waiters(PGconn* connection, const LockKey& key) {
    if (PQpipelineStatus(connection) != PQ_PIPELINE_OFF ||
        PQtransactionStatus(connection) != PQTRANS_IDLE) {
        refuse(StoreFault::Cause::configuration,
               "wake_waiters works after the transaction, outside of a pipeline");
    }
    static const std::string notify =
        sql::notify_if_watched(setting_of(retries::postgres_lock_patience));
    const auto parameters = Parameters{}.text(key.type()).text(key.id());
    const Parameters::Bound bound = parameters.bound();
    const Rows notified{PQexecParams(connection, notify.c_str(), bound.count(), nullptr,
                                     bound.values.data(), bound.lengths.data(),
                                     bound.formats.data(), binary_format)};
    // If another session was notifying for too long, the waiters ask after their pause.
    if (PQstatus(connection) != CONNECTION_OK) {
        refuse(StoreFault::Cause::unavailable, PQerrorMessage(connection));
    }
}

}  // namespace leasehold::postgres
