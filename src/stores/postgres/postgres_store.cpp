#include <leasehold/stores/postgres.hpp>

#include <libpq-fe.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "core/cell_store.hpp"
#include "core/columns.hpp"
#include "stores/postgres/connection.hpp"
#include "stores/postgres/schema.hpp"

namespace leasehold::postgres {
namespace {

// Keys travel as arrays, so that one statement serves a batch of any size.
namespace sql {

constexpr std::string_view begin = "begin";
constexpr std::string_view commit = "commit";
constexpr std::string_view rollback = "rollback";
constexpr std::string_view clock = "select clock_timestamp(), time_floor from leasehold";

// Locks what nobody else has locked, without waiting, and reads the rest as it is committed.
constexpr std::string_view lock_rows = R"(
with q as materialized (
    select * from unnest($1::text[], $2::text[]) with ordinality as q (type, id, n)
), mine as materialized (
    select q.n, l.* from q join locks l on l.type = q.type and l.id = q.id
    order by q.n for update of l skip locked
)
select n, true, lockid, expiration_time, owner, mode, fence, granted_at, touched_at, note, ended,
       ended_at, ended_by, ended_why
from mine
union all
select q.n, false, lockid, expiration_time, owner, mode, fence, granted_at, touched_at, note, ended,
       ended_at, ended_by, ended_why
from q join locks l on l.type = q.type and l.id = q.id
where q.n not in (select n from mine))";

constexpr std::string_view read_rows = R"(
select n, true, lockid, expiration_time, owner, mode, fence, granted_at, touched_at, note, ended,
       ended_at, ended_by, ended_why
from unnest($1::text[], $2::text[]) with ordinality as q (type, id, n)
join locks l on l.type = q.type and l.id = q.id)";

constexpr std::string_view read_shares = R"(
select n, lockid, expiration_time, owner, fence, granted_at, note
from unnest($1::text[], $2::text[]) with ordinality as q (type, id, n)
join lock_shares s on s.type = q.type and s.id = q.id
order by n, fence)";

constexpr std::string_view read_past = R"(
select h.type, h.id, h.lockid, owner, mode, fence, granted_at, expiration_time, ended, ended_at,
       ended_by, ended_why, note, seq
from unnest($1::text[]) as q (lockid) join lock_history h on h.lockid = q.lockid
order by seq)";

constexpr std::string_view update_rows = R"(
update locks l
set lockid = v.lockid, expiration_time = v.expiration_time, owner = v.owner, mode = v.mode,
    fence = v.fence, granted_at = v.granted_at, touched_at = v.touched_at, note = v.note,
    ended = v.ended, ended_at = v.ended_at, ended_by = v.ended_by, ended_why = v.ended_why
from unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::text[], $6::bigint[],
            $7::bigint[], $8::timestamptz[], $9::timestamptz[], $10::text[], $11::bigint[],
            $12::timestamptz[], $13::text[], $14::text[])
    as v (type, id, lockid, expiration_time, owner, mode, fence, granted_at, touched_at, note, ended,
          ended_at, ended_by, ended_why)
where l.type = v.type and l.id = v.id)";

constexpr std::string_view insert_rows = R"(
insert into locks (type, id, lockid, expiration_time, owner, mode, fence, granted_at, touched_at,
                   note, ended, ended_at, ended_by, ended_why)
select * from unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::text[], $6::bigint[],
                     $7::bigint[], $8::timestamptz[], $9::timestamptz[], $10::text[], $11::bigint[],
                     $12::timestamptz[], $13::text[], $14::text[]))";

constexpr std::string_view delete_rows = R"(
delete from locks l using unnest($1::text[], $2::text[]) as v (type, id)
where l.type = v.type and l.id = v.id)";

constexpr std::string_view write_shares = R"(
insert into lock_shares (type, id, lockid, expiration_time, owner, fence, granted_at, note)
select * from unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::text[], $6::bigint[],
                     $7::timestamptz[], $8::text[])
on conflict (type, id, lockid) do update
set expiration_time = excluded.expiration_time, note = excluded.note)";

constexpr std::string_view delete_shares = R"(
delete from lock_shares s using unnest($1::text[], $2::text[], $3::text[]) as v (type, id, lockid)
where s.type = v.type and s.id = v.id and s.lockid = v.lockid)";

constexpr std::string_view add_history = R"(
insert into lock_history (type, id, lockid, owner, mode, fence, granted_at, expiration_time, ended,
                          ended_at, ended_by, ended_why, note)
select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[],
                     $7::timestamptz[], $8::timestamptz[], $9::bigint[], $10::timestamptz[],
                     $11::text[], $12::text[], $13::text[]))";

constexpr std::string_view raise_floor =
    "update leasehold set time_floor = greatest(time_floor, $1::timestamptz)";

constexpr std::string_view locate = R"(
select lockid, type, id from locks where lockid = any ($1::text[])
union all select lockid, type, id from lock_shares where lockid = any ($1::text[])
union all select lockid, type, id from lock_history where lockid = any ($1::text[]))";

// $1 the owner itself, $2 to $3 the range of owners below it.
constexpr std::string_view keys_of = R"(
select type, id from locks where ended = 0 and owner <> '' and owner = $1::text
union select type, id from lock_shares where owner <> '' and owner = $1::text
union select type, id from locks
      where ended = 0 and owner <> '' and owner > $2::text and owner < $3::text
union select type, id from lock_shares where owner <> '' and owner > $2::text and owner < $3::text)";

constexpr std::string_view scan = R"(
select type, id, expiration_time <= $3::timestamptz from locks
where (type, id) > ($1::text, $2::text) order by type, id limit $4::bigint)";

// $2, $3, $4 the last of the page before; $5 a type or ''; $6 whether to ask for an owner, $7 the
// owner, $8 to $9 the range of owners below.
constexpr std::string_view list = R"(
select type, id, owner, 0::bigint, fence, granted_at, expiration_time, note
from locks
where mode = 0 and ended = 0 and expiration_time > $1::timestamptz
  and (type, id) >= ($2::text, $3::text) and (type, id, fence) > ($2::text, $3::text, $4::bigint)
  and ($5::text = '' or type = $5::text)
  and ($6::bigint = 0 or owner = $7::text or (owner > $8::text and owner < $9::text))
union all
select type, id, owner, 1::bigint, fence, granted_at, expiration_time, note
from lock_shares
where expiration_time > $1::timestamptz
  and (type, id) >= ($2::text, $3::text) and (type, id, fence) > ($2::text, $3::text, $4::bigint)
  and ($5::text = '' or type = $5::text)
  and ($6::bigint = 0 or owner = $7::text or (owner > $8::text and owner < $9::text))
order by type, id, fence limit $10::bigint)";

constexpr std::string_view history = R"(
select type, id, lockid, owner, mode, fence, granted_at, expiration_time, ended, ended_at, ended_by,
       ended_why, note, seq
from lock_history where seq < $1::bigint and ended_at >= $2::timestamptz
order by seq desc limit $3::bigint)";

constexpr std::string_view history_of_key = R"(
select type, id, lockid, owner, mode, fence, granted_at, expiration_time, ended, ended_at, ended_by,
       ended_why, note, seq
from lock_history
where seq < $1::bigint and ended_at >= $2::timestamptz and type = $4::text and id = $5::text
order by seq desc limit $3::bigint)";

constexpr std::string_view forget_history = R"(
delete from lock_history where seq in (
    select seq from (select seq, ended_at from lock_history order by seq limit $2::bigint) oldest
    where ended_at < $1::timestamptz))";

}  // namespace sql

// The plans must be the same whether a table has ten rows or ten million, and whatever its statistics
// say: always by the indexes. Nothing here waits long for anybody, and a transaction of ours that
// was forgotten (the process was paused) does not hold its rows for ever.
constexpr const char* session_settings = R"(
set plan_cache_mode = force_generic_plan;
set enable_seqscan = off;
set enable_hashjoin = off;
set enable_mergejoin = off;
set jit = off;
set default_transaction_isolation = 'read committed';
set default_transaction_read_only = off;
set lock_timeout = '100ms';
set idle_in_transaction_session_timeout = '10s')";

// What another transaction can do to ours: then it is done again.
bool is_conflict(const ServerError& error) {
    return error.state == "23505" ||  // somebody inserted the same key
           error.state == "40001" || error.state == "40P01" || error.state == "55P03";
}

// The columns of many rows, side by side.
struct KeyColumns {
    void add(const LockKey& key) {
        types.push_back(key.type());
        ids.push_back(key.id());
    }
    std::vector<std::string> types, ids;
};

struct LockColumns : KeyColumns {
    void add(const LockKey& key, const LockRow& row) {
        KeyColumns::add(key);
        lock_ids.push_back(row.lock_id.to_string());
        expiries.push_back(row.expires_at);
        owners.push_back(row.owner);
        modes.push_back(number_of(row.mode));
        fences.push_back(row.fence);
        granted.push_back(row.granted_at);
        touched.push_back(row.touched_at);
        notes.push_back(row.note);
        ended.push_back(number_of(row.ended));
        ended_at.push_back(row.ended_at);
        ended_by.push_back(row.ended_by);
        ended_why.push_back(row.ended_why);
    }
    [[nodiscard]] Parameters parameters() const {
        Parameters p;
        p.texts(types).texts(ids).texts(lock_ids).times(expiries).texts(owners).integers(modes);
        p.integers(fences).times(granted).times(touched).texts(notes).integers(ended);
        p.times(ended_at).texts(ended_by).texts(ended_why);
        return p;
    }
    std::vector<std::string> lock_ids, owners, notes, ended_by, ended_why;
    std::vector<std::int64_t> modes, fences, ended;
    std::vector<Time> expiries, granted, touched, ended_at;
};

struct ShareColumns : KeyColumns {
    void add(const LockKey& key, const Grant& grant) {
        KeyColumns::add(key);
        lock_ids.push_back(grant.lock_id.to_string());
        expiries.push_back(grant.expires_at);
        owners.push_back(grant.owner);
        fences.push_back(grant.fence);
        granted.push_back(grant.granted_at);
        notes.push_back(grant.note);
    }
    [[nodiscard]] Parameters parameters() const {
        Parameters p;
        p.texts(types).texts(ids).texts(lock_ids).times(expiries).texts(owners).integers(fences);
        p.times(granted).texts(notes);
        return p;
    }
    std::vector<std::string> lock_ids, owners, notes;
    std::vector<std::int64_t> fences;
    std::vector<Time> expiries, granted;
};

struct HistoryColumns : KeyColumns {
    void add(const Ended& ended) {
        const Grant& grant = ended.ending.grant;
        KeyColumns::add(ended.key);
        lock_ids.push_back(grant.lock_id.to_string());
        owners.push_back(grant.owner);
        modes.push_back(number_of(grant.mode));
        fences.push_back(grant.fence);
        granted.push_back(grant.granted_at);
        expiries.push_back(grant.expires_at);
        how.push_back(number_of(ended.ending.how));
        at.push_back(ended.ending.at);
        by.push_back(ended.ending.by);
        why.push_back(ended.ending.why);
        notes.push_back(grant.note);
    }
    [[nodiscard]] Parameters parameters() const {
        Parameters p;
        p.texts(types).texts(ids).texts(lock_ids).texts(owners).integers(modes).integers(fences);
        p.times(granted).times(expiries).integers(how).times(at).texts(by).texts(why).texts(notes);
        return p;
    }
    std::vector<std::string> lock_ids, owners, by, why, notes;
    std::vector<std::int64_t> modes, fences, how;
    std::vector<Time> granted, expiries, at;
};

LockKey key_at(const Rows& rows, int row, int column) {
    return {std::string{rows.text(row, column)}, std::string{rows.text(row, column + 1)}};
}

LockRow lock_row_at(const Rows& rows, int row) {
    return {.lock_id = lock_id_from(rows.text(row, 2)),
            .expires_at = rows.time(row, 3),
            .owner = std::string{rows.text(row, 4)},
            .mode = mode_from(rows.integer(row, 5)),
            .fence = rows.integer(row, 6),
            .granted_at = rows.time(row, 7),
            .touched_at = rows.time(row, 8),
            .note = std::string{rows.text(row, 9)},
            .ended = gone_from(rows.integer(row, 10)),
            .ended_at = rows.time(row, 11),
            .ended_by = std::string{rows.text(row, 12)},
            .ended_why = std::string{rows.text(row, 13)}};
}

Ended ended_at(const Rows& rows, int row) {
    return {key_at(rows, row, 0),
            {.grant = {.lock_id = lock_id_from(rows.text(row, 2)),
                       .owner = std::string{rows.text(row, 3)},
                       .mode = mode_from(rows.integer(row, 4)),
                       .fence = rows.integer(row, 5),
                       .granted_at = rows.time(row, 6),
                       .expires_at = rows.time(row, 7),
                       .note = std::string{rows.text(row, 12)}},
             .how = gone_from(rows.integer(row, 8)),
             .at = rows.time(row, 9),
             .by = std::string{rows.text(row, 10)},
             .why = std::string{rows.text(row, 11)}}};
}

std::vector<std::string> texts_of(std::span<const LockId> lock_ids) {
    std::vector<std::string> texts;
    for (const LockId& id : lock_ids) texts.push_back(id.to_string());
    return texts;
}

class PostgresStore final : public CellStore {
public:
    PostgresStore(const std::string& conninfo, const StoreOptions& options)
        : CellStore{options},
          connection_{conninfo, options.io_timeout, [this](PGconn* fresh) { greet(fresh); }} {
        connection_.connect();
    }

    [[nodiscard]] StoreStatus status() override {
        const std::lock_guard lock{status_mutex_};
        return status_;
    }

protected:
    Begun begin() override {
        // Sent together with the load that follows.
        transaction_ = Transaction::wanted;
        return Begun::writing;
    }

    void load(Work& work) override {
        const bool locking = transaction_ != Transaction::none;
        std::vector<Command> commands;
        if (transaction_ == Transaction::wanted) {
            commands.push_back({sql::begin});
            transaction_ = Transaction::open;
        }
        const auto add_keys = [&](std::string_view statement, Slot::Intent intent) {
            KeyColumns keys;
            std::vector<Slot*> slots;
            for (Slot& slot : work.slots) {
                if (slot.intent != intent) continue;
                keys.add(slot.key);
                slots.push_back(&slot);
            }
            if (!slots.empty()) {
                commands.push_back({statement, Parameters{}.texts(keys.types).texts(keys.ids)});
            }
            return slots;
        };
        const auto to_change =
            add_keys(locking ? sql::lock_rows : sql::read_rows, Slot::Intent::change);
        const auto to_read = add_keys(sql::read_rows, Slot::Intent::read);
        if (!work.lock_ids.empty()) {
            commands.push_back({sql::read_past, Parameters{}.texts(texts_of(work.lock_ids))});
        }
        commands.push_back({sql::clock});

        const std::vector<Rows> answers = run(commands, Commits::no);
        std::size_t at = commands.front().sql.data() == sql::begin.data() ? 1 : 0;
        if (!to_change.empty()) take_rows(answers[at++], to_change);
        if (!to_read.empty()) take_rows(answers[at++], to_read);
        if (!work.lock_ids.empty()) {
            const Rows& past = answers[at++];
            for (int row = 0; row < past.size(); ++row) {
                Ended ended = ended_at(past, row);
                const LockId id = ended.ending.grant.lock_id;
                work.past.insert_or_assign(id, std::move(ended));
            }
        }
        work.clock = clock_at(answers[at]);
        load_shares(work);
    }

    void save_and_commit(Work& work) override {
        std::vector<Command> commands;
        LockColumns changed, added;
        KeyColumns forgotten;
        ShareColumns shares;
        KeyColumns unshared;
        std::vector<std::string> unshared_ids;
        HistoryColumns history;
        for (const Slot& slot : work.slots) {
            if (slot.forget) {
                forgotten.add(slot.key);
            } else if (slot.cell.changed) {
                (slot.state == Slot::State::missing ? added : changed).add(slot.key, row_of(slot));
            } else {
                continue;
            }
            const ShareChanges share = share_changes(slot);
            for (const Grant* grant : share.written) shares.add(slot.key, *grant);
            for (const LockId& id : share.removed) {
                unshared.add(slot.key);
                unshared_ids.push_back(id.to_string());
            }
        }
        for (const Ended& ended : work.endings) history.add(ended);

        if (!changed.types.empty()) commands.push_back({sql::update_rows, changed.parameters()});
        if (!added.types.empty()) commands.push_back({sql::insert_rows, added.parameters()});
        if (!forgotten.types.empty()) {
            commands.push_back(
                {sql::delete_rows, Parameters{}.texts(forgotten.types).texts(forgotten.ids)});
        }
        if (!unshared_ids.empty()) {
            commands.push_back(
                {sql::delete_shares,
                 Parameters{}.texts(unshared.types).texts(unshared.ids).texts(unshared_ids)});
        }
        if (!shares.types.empty()) commands.push_back({sql::write_shares, shares.parameters()});
        if (!history.types.empty()) commands.push_back({sql::add_history, history.parameters()});
        if (work.raise_floor_to > Time{}) {
            commands.push_back({sql::raise_floor, Parameters{}.time(work.raise_floor_to)});
        }
        commands.push_back({sql::commit});
        run(commands, Commits::yes);
        transaction_ = Transaction::none;
    }

    void rollback() noexcept override {
        if (std::exchange(transaction_, Transaction::none) != Transaction::open) return;
        try {
            connection_.run_one({sql::rollback});
        } catch (...) {
            connection_.close();
        }
    }

    std::unordered_map<LockId, LockKey> locate(std::span<const LockId> lock_ids) override {
        const Rows rows = run_one({sql::locate, Parameters{}.texts(texts_of(lock_ids))});
        std::unordered_map<LockId, LockKey> keys;
        for (int row = 0; row < rows.size(); ++row) {
            keys.emplace(lock_id_from(rows.text(row, 0)), key_at(rows, row, 1));
        }
        return keys;
    }

    std::vector<LockKey> keys_of(const std::string& owner, OwnerScope scope) override {
        const PathRange below{owner};
        const bool path = scope == OwnerScope::below;
        const Rows rows = run_one({sql::keys_of, Parameters{}
                                                     .text(owner)
                                                     .text(path ? below.after : "")
                                                     .text(path ? below.before : "")});
        std::vector<LockKey> keys;
        for (int row = 0; row < rows.size(); ++row) keys.push_back(key_at(rows, row, 0));
        sort_and_unite(keys);
        return keys;
    }

    std::vector<Candidate> scan(const std::optional<LockKey>& after, std::size_t limit,
                                Time moment) override {
        const Rows rows = run_one({sql::scan, Parameters{}
                                                  .text(after ? after->type() : "")
                                                  .text(after ? after->id() : "")
                                                  .time(moment)
                                                  .integer(static_cast<std::int64_t>(limit))});
        std::vector<Candidate> candidates;
        for (int row = 0; row < rows.size(); ++row) {
            candidates.push_back({key_at(rows, row, 0), rows.integer(row, 2) != 0});
        }
        return candidates;
    }

    Time read_clock() override { return clock_at(run_one({sql::clock})); }

    std::vector<Holder> list(const List& request, Time now) override {
        const PathRange below{request.owner.value_or("")};
        const bool path = request.scope == OwnerScope::below;
        const Rows rows = run_one(
            {sql::list, Parameters{}
                            .time(now)
                            .text(request.after ? request.after->key.type() : "")
                            .text(request.after ? request.after->key.id() : "")
                            .integer(request.after ? request.after->fence : 0)
                            .text(request.type.value_or(""))
                            .integer(request.owner ? 1 : 0)
                            .text(request.owner.value_or(""))
                            .text(path ? below.after : "")
                            .text(path ? below.before : "")
                            .integer(static_cast<std::int64_t>(request.limit))});
        std::vector<Holder> holders;
        for (int row = 0; row < rows.size(); ++row) {
            holders.push_back({.key = key_at(rows, row, 0),
                               .owner = std::string{rows.text(row, 2)},
                               .mode = mode_from(rows.integer(row, 3)),
                               .fence = rows.integer(row, 4),
                               .since = rows.time(row, 5),
                               .until = rows.time(row, 6),
                               .note = std::string{rows.text(row, 7)}});
        }
        return holders;
    }

    std::vector<PastLease> history(const History& request, Time oldest) override {
        Parameters parameters;
        parameters.integer(request.before.value_or(INT64_MAX))
            .time(oldest)
            .integer(static_cast<std::int64_t>(request.limit));
        if (request.key) parameters.text(request.key->type()).text(request.key->id());
        const Rows rows = run_one(
            {request.key ? sql::history_of_key : sql::history, std::move(parameters)});
        std::vector<PastLease> page;
        for (int row = 0; row < rows.size(); ++row) {
            page.push_back(to_past(ended_at(rows, row), rows.integer(row, 13)));
        }
        return page;
    }

    std::size_t forget_history(Time before, std::size_t limit) override {
        const Rows rows = run_one({sql::forget_history,
                                   Parameters{}.time(before).integer(
                                       static_cast<std::int64_t>(limit))});
        return static_cast<std::size_t>(rows.affected());
    }

private:
    enum class Transaction { none, wanted, open };

    void greet(PGconn* fresh) {
        execute(fresh, session_settings);
        migrate(fresh);
        StoreStatus status = read_status(fresh);
        require_durability(options_, status);
        const std::lock_guard lock{status_mutex_};
        status_ = std::move(status);
    }

    std::vector<Rows> run(std::span<const Command> commands, Commits commits) {
        try {
            return connection_.run(commands, commits);
        } catch (const ServerError& error) {
            if (is_conflict(error)) throw Conflict{};
            rollback();
            fail(error);
        } catch (const StoreFault&) {
            transaction_ = Transaction::none;
            throw;
        }
    }

    Rows run_one(const Command& command) {
        return std::move(run({&command, 1}, Commits::no).front());
    }

    static Time clock_at(const Rows& rows) { return std::max(rows.time(0, 0), rows.time(0, 1)); }

    static void take_rows(const Rows& rows, const std::vector<Slot*>& slots) {
        for (int row = 0; row < rows.size(); ++row) {
            Slot& slot = *slots[static_cast<std::size_t>(rows.integer(row, 0)) - 1];
            slot.state = rows.integer(row, 1) != 0 ? Slot::State::ours : Slot::State::blocked;
            slot.row = lock_row_at(rows, row);
        }
    }

    void load_shares(Work& work) {
        KeyColumns keys;
        std::vector<Slot*> slots;
        for (Slot& slot : work.slots) {
            if (slot.state == Slot::State::missing || slot.row.mode != Mode::shared) continue;
            keys.add(slot.key);
            slots.push_back(&slot);
        }
        if (slots.empty()) return;
        const Rows rows =
            run_one({sql::read_shares, Parameters{}.texts(keys.types).texts(keys.ids)});
        for (int row = 0; row < rows.size(); ++row) {
            slots[static_cast<std::size_t>(rows.integer(row, 0)) - 1]->shares.push_back(
                {.lock_id = lock_id_from(rows.text(row, 1)),
                 .owner = std::string{rows.text(row, 3)},
                 .mode = Mode::shared,
                 .fence = rows.integer(row, 4),
                 .granted_at = rows.time(row, 5),
                 .expires_at = rows.time(row, 2),
                 .note = std::string{rows.text(row, 6)}});
        }
    }

    std::mutex status_mutex_;
    StoreStatus status_;  // guarded by status_mutex_
    Connection connection_;
    Transaction transaction_ = Transaction::none;
};

}  // namespace

std::unique_ptr<Store> open(const std::string& conninfo, StoreOptions options) {
    return std::make_unique<PostgresStore>(conninfo, options);
}

}  // namespace leasehold::postgres
