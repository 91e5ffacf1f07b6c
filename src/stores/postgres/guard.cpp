#include <leasehold/stores/postgres.hpp>

#include <libpq-fe.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "core/columns.hpp"
#include "core/guarded.hpp"
#include "stores/postgres/columns.hpp"
#include "stores/postgres/connection.hpp"

namespace leasehold::postgres {
namespace {

// How long a guard asks for a row that somebody else has locked, and how often.
constexpr std::chrono::seconds patience{1};
constexpr std::chrono::milliseconds pause{2};

constexpr const char* lock_not_available = "55P03";

constexpr const char* row_columns =
    "lockid, expiration_time, owner, mode, fence, granted_at, touched_at, note, ended, ended_at, "
    "ended_by, ended_why";

[[noreturn]] void refuse(StoreFault::Cause cause, const std::string& why) {
    throw StoreFault{StoreFault::Effect::none, cause, "postgres: " + why};
}

// Statements in the caller's transaction that never leave it aborted: whatever fails is undone to
// where it was.
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

    // What was done stays part of the caller's transaction.
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

struct Locked {
    Slot slot;
    Time clock;
};

// Locks the key's row against everybody who would take it. Holders of a shared lease can guard side
// by side. The clock is read when the lock is there.
Locked lock(Guarded& tx, const LockKey& key, LockId lock_id) {
    Locked locked{.slot = {.key = key, .intent = Slot::Intent::change}, .clock = {}};
    const auto name = Parameters{}.text(key.type()).text(key.id());
    const auto lock_row = [&](const char* mode, const char* strength) {
        return tx.run(
            std::string{"with l as materialized (select * from locks where type = $1::text "
                        "and id = $2::text and mode = "} +
                mode + " for " + strength + ") select " + row_columns +
                ", clock_timestamp(), (select time_floor from leasehold) from l",
            name);
    };
    Rows rows = lock_row("0", "update nowait");
    if (rows.size() == 0) rows = lock_row("1", "share nowait");
    if (rows.size() == 0) {
        const Rows clock = tx.run(
            "select clock_timestamp(), exists (select from locks where type = $1::text and id = "
            "$2::text)",
            name);
        // Between the two it was made, or converted from one mode to the other.
        if (clock.integer(0, 1) != 0) throw ServerError{lock_not_available, "the lease changed"};
        locked.clock = clock.time(0, 0);
        return locked;
    }
    Slot& slot = locked.slot;
    slot.state = Slot::State::ours;
    slot.row = lock_row_at(rows, 0, 0);
    locked.clock = std::max(rows.time(0, 12), rows.time(0, 13));
    if (slot.row.mode == Mode::shared) {
        const Rows share = tx.run(
            "select lockid, expiration_time, owner, fence, granted_at, note from lock_shares "
            "where type = $1::text and id = $2::text and lockid = $3::text for update nowait",
            Parameters{name}.text(lock_id.to_string()));
        if (share.size() > 0) slot.shares.push_back(share_at(share, 0, 0));
        locked.clock = std::max(locked.clock, tx.run("select clock_timestamp()", {}).time(0, 0));
    }
    slot.cell = cell_of(slot.row, slot.shares);
    return locked;
}

PastLookup past_in(Guarded& tx) {
    return [&tx](LockId id) -> std::optional<Ended> {
        const Rows rows = tx.run(
            "select type, id, ended, ended_at, ended_by, ended_why from lock_history "
            "where lockid = $1::text order by seq desc limit 1",
            Parameters{}.text(id.to_string()));
        if (rows.size() == 0) return std::nullopt;
        return Ended{key_at(rows, 0, 0),
                     {.grant = {.lock_id = id},
                      .how = gone_from(rows.integer(0, 2)),
                      .at = rows.time(0, 3),
                      .by = std::string{rows.text(0, 4)},
                      .why = std::string{rows.text(0, 5)}}};
    };
}

// The lease as the caller's transaction leaves it. A shared lease's row in `locks` is not touched:
// others may be guarding it, and it only overstates until the next change.
void write_released(Guarded& tx, const Slot& slot, const Ended& ended) {
    const Grant& grant = ended.ending->grant;
    const auto name = Parameters{}.text(slot.key.type()).text(slot.key.id());
    if (grant.mode == Mode::shared) {
        tx.run(
            "delete from lock_shares where type = $1::text and id = $2::text and lockid = $3::text",
            Parameters{name}.text(grant.lock_id.to_string()));
    } else {
        tx.run(
            "update locks set expiration_time = $3::timestamptz, touched_at = $3::timestamptz, "
            "ended_at = $3::timestamptz, ended = $4::bigint where type = $1::text and id = "
            "$2::text",
            Parameters{name}.time(ended.ending->at).integer(number_of(ended.ending->how)));
    }
    tx.run(
        "insert into lock_history (type, id, lockid, owner, mode, fence, granted_at, "
        "expiration_time, ended, ended_at, ended_by, ended_why, note) values ($1::text, $2::text, "
        "$3::text, $4::text, $5::bigint, $6::bigint, $7::timestamptz, $8::timestamptz, $9::bigint, "
        "$10::timestamptz, '', '', $11::text)",
        Parameters{name}
            .text(grant.lock_id.to_string())
            .text(grant.owner)
            .integer(number_of(grant.mode))
            .integer(grant.fence)
            .time(grant.granted_at)
            .time(grant.expires_at)
            .integer(number_of(ended.ending->how))
            .time(ended.ending->at)
            .text(grant.note));
}

// A row may be locked for a moment by a batch, or by another guard of the same lease. It is asked
// for again without waiting in the database: a wait could make the caller the victim of a deadlock.
template <class Work>
Result<Lease> in_savepoint(PGconn* connection, Work work) {
    const auto give_up = SteadyClock::now() + patience;
    for (bool patient = true;; patient = SteadyClock::now() < give_up) {
        try {
            Guarded tx{connection};
            if (!patient) return busy_guarded(tx.run("select clock_timestamp()", {}).time(0, 0));
            Result<Lease> result = work(tx);
            // A refusal gives the row lock back with the savepoint.
            if (result) tx.keep();
            return result;
        } catch (const ServerError& error) {
            if (error.state != lock_not_available) {
                refuse(StoreFault::Cause::internal,
                       error.state == "40001"
                           ? "the lease changed after this transaction's snapshot "
                             "was taken: call guard before anything else in it"
                           : error.message);
            }
        }
        std::this_thread::sleep_for(pause);
    }
}

}  // namespace

Result<Lease> guard(PGconn* transaction, const LockKey& key, LockId lock_id) {
    return in_savepoint(transaction, [&](Guarded& tx) {
        const Locked locked = lock(tx, key, lock_id);
        return check_guarded(locked.slot, lock_id, locked.clock, past_in(tx));
    });
}

Result<Lease> release(PGconn* transaction, const LockKey& key, LockId lock_id) {
    return in_savepoint(transaction, [&](Guarded& tx) {
        Locked locked = lock(tx, key, lock_id);
        std::vector<Ended> endings;
        auto released = release_guarded(locked.slot, lock_id, locked.clock, past_in(tx), endings);
        if (released) write_released(tx, locked.slot, endings.front());
        return released;
    });
}

}  // namespace leasehold::postgres
