#include <leasehold/stores/postgres.hpp>

#include <libpq-fe.h>

#include <algorithm>
#include <mutex>
#include <unordered_map>
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

// The shortcuts: one statement decides, changes and commits. Each locks its rows first, without
// waiting, and takes the time when it has them. They come in two forms, for one request and for many,
// which differ in where q comes from.
const std::string try_q_one =
    "with q as (select $1::text as type, $2::text as id, $3::text as lockid, $4::text as owner, "
    "$5::text as note, $6::bigint as ttl)";
const std::string try_q_many =
    "with q as materialized (select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], "
    "$5::text[], $6::bigint[]) as q (type, id, lockid, owner, note, ttl))";

// A key that is free because its last lease was ended, or that was never locked.
const std::string try_rest = R"(,
free as materialized (
    select q.lockid, q.owner, q.note, q.ttl, l.type, l.id, l.fence, l.touched_at
    from q join locks l on l.type = q.type and l.id = q.id
    where l.ended <> 0 and l.expiration_time <= clock_timestamp() and l.lockid <> q.lockid
      and not exists (select from lock_history h where h.lockid = q.lockid)
    for update of l skip locked
), timed as (
    select *, greatest(clock_timestamp(), touched_at, $7::timestamptz) as now from free
), taken as (
    update locks l
    set lockid = t.lockid, expiration_time = t.now + t.ttl * interval '1 microsecond',
        owner = t.owner, mode = 0,
        fence = greatest(t.fence + 1, (extract(epoch from t.now) * 1000000)::bigint),
        granted_at = t.now, touched_at = t.now, note = t.note, ended = 0, ended_at = '-infinity',
        ended_by = '', ended_why = ''
    from timed t where l.type = t.type and l.id = t.id
    returning l.lockid, l.fence, l.granted_at, l.expiration_time
), added as (
    insert into locks (type, id, lockid, expiration_time, owner, note, fence, granted_at, touched_at)
    select q.type, q.id, q.lockid, c.now + q.ttl * interval '1 microsecond', q.owner, q.note,
           (extract(epoch from c.now) * 1000000)::bigint, c.now, c.now
    from q, (select greatest(clock_timestamp(), time_floor, $7::timestamptz) as now from leasehold) c
    where not exists (select from locks l where l.type = q.type and l.id = q.id)
      and not exists (select from lock_history h where h.lockid = q.lockid)
    on conflict do nothing
    returning lockid, fence, granted_at, expiration_time
)
select * from taken union all select * from added)";

const std::string mine_q_one =
    "with q as (select $1::text as type, $2::text as id, $3::text as lockid, $4::bigint as by, "
    "$5::bigint as ttl, $6::bigint as max_hold)";
const std::string mine_q_many =
    "with q as materialized (select * from unnest($1::text[], $2::text[], $3::text[], $4::bigint[], "
    "$5::bigint[], $6::bigint[]) as q (type, id, lockid, by, ttl, max_hold))";

// One's own exclusive lease, alive.
const std::string mine = R"(,
mine as materialized (
    select q.by, q.ttl, q.max_hold, l.type, l.id, l.expiration_time, l.granted_at, l.touched_at
    from q join locks l on l.type = q.type and l.id = q.id
    where l.lockid = q.lockid and l.ended = 0 and l.mode = 0
      and l.expiration_time > clock_timestamp() and l.expiration_time < 'infinity'
    for update of l skip locked
), timed as (
    select *, greatest(clock_timestamp(), touched_at, $7::timestamptz) as now from mine
))";

// Renewing is extending without `by`; -1 stands for no such bound.
const std::string prolong_rest = mine + R"(
update locks l
set expiration_time = greatest(l.expiration_time, least(
        t.expiration_time + nullif(t.by, -1) * interval '1 microsecond',
        t.now + t.ttl * interval '1 microsecond',
        t.granted_at + nullif(t.max_hold, -1) * interval '1 microsecond')),
    touched_at = t.now
from timed t where l.type = t.type and l.id = t.id and t.expiration_time > t.now
returning l.lockid, l.owner, l.fence, l.granted_at, l.expiration_time, l.note, t.now)";

const std::string release_rest = mine + R"(,
done as (
    update locks l
    set expiration_time = t.now, touched_at = t.now, ended = 2, ended_at = t.now
    from timed t where l.type = t.type and l.id = t.id and t.expiration_time > t.now
    returning l.type, l.id, l.lockid, l.owner, l.fence, l.granted_at, t.expiration_time, l.note, t.now
), kept as (
    insert into lock_history (type, id, lockid, owner, mode, fence, granted_at, expiration_time,
                              ended, ended_at, ended_by, ended_why, note)
    select type, id, lockid, owner, 0, fence, granted_at, expiration_time, 2, now, '', '', note
    from done where $8::bigint = 1
)
select lockid, owner, fence, granted_at, expiration_time, note, now from done)";

const std::string try_one = try_q_one + try_rest, try_many = try_q_many + try_rest;
const std::string prolong_one = mine_q_one + prolong_rest, prolong_many = mine_q_many + prolong_rest;
const std::string release_one = mine_q_one + release_rest, release_many = mine_q_many + release_rest;

// With the clock in each row, also of a key without one.
const std::string check_rest = R"(
select l.lockid, l.owner, l.fence, l.granted_at, l.expiration_time, l.note,
       greatest(clock_timestamp(), l.touched_at, $4::timestamptz)
from q join locks l on l.type = q.type and l.id = q.id
where l.lockid = q.lockid and l.ended = 0 and l.mode = 0)";
const std::string check_one =
    "with q as (select $1::text as type, $2::text as id, $3::text as lockid)" + check_rest;
const std::string check_many =
    "with q as materialized (select * from unnest($1::text[], $2::text[], $3::text[]) "
    "as q (type, id, lockid))" + check_rest;

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

// Requests that are to be answered by one statement of each kind.
class Shortcuts {
public:
    Shortcuts(Time floor, bool keep_history) : floor_{floor}, keep_history_{keep_history} {}

    void add(std::size_t index, const TryLock& r) {
        tries_.add(index, r.key, r.lock_id);
        owners_.push_back(r.owner);
        notes_.push_back(r.note);
        ttls_.push_back((r.max_hold ? std::min(r.ttl, *r.max_hold) : r.ttl).count());
    }
    void add(std::size_t index, const Check& r) { checks_.add(index, *r.key, r.lock_id); }
    void add(std::size_t index, const Extend& r) { prolong(index, r, r.by.count(), r.max_ttl); }
    void add(std::size_t index, const Renew& r) { prolong(index, r, unbounded, r.ttl); }
    void add(std::size_t index, const Release& r) { releases_.add(index, *r.key, r.lock_id); }
    template <class R>
    void add(std::size_t /*index*/, const R& /*request*/) {}

    [[nodiscard]] std::vector<Command> commands() const {
        std::vector<Command> commands;
        if (const auto n = tries_.indices.size(); n == 1) {
            commands.push_back({sql::try_one, tries_.first()
                                                  .text(owners_[0])
                                                  .text(notes_[0])
                                                  .integer(ttls_[0])
                                                  .time(floor_)});
        } else if (n > 1) {
            commands.push_back({sql::try_many, tries_.all()
                                                   .texts(owners_)
                                                   .texts(notes_)
                                                   .integers(ttls_)
                                                   .time(floor_)});
        }
        if (const auto n = checks_.indices.size(); n > 0) {
            commands.push_back({n == 1 ? sql::check_one : sql::check_many,
                                (n == 1 ? checks_.first() : checks_.all()).time(floor_)});
        }
        if (const auto n = prolongs_.indices.size(); n == 1) {
            commands.push_back({sql::prolong_one, prolongs_.first()
                                                      .integer(bys_[0])
                                                      .integer(until_[0])
                                                      .integer(holds_[0])
                                                      .time(floor_)});
        } else if (n > 1) {
            commands.push_back({sql::prolong_many, prolongs_.all()
                                                       .integers(bys_)
                                                       .integers(until_)
                                                       .integers(holds_)
                                                       .time(floor_)});
        }
        if (const auto n = releases_.indices.size(); n == 1) {
            commands.push_back({sql::release_one, releases_.first()
                                                      .integer(0)
                                                      .integer(0)
                                                      .integer(0)
                                                      .time(floor_)
                                                      .integer(keep_history_ ? 1 : 0)});
        } else if (n > 1) {
            const std::vector<std::int64_t> none(n);
            commands.push_back({sql::release_many, releases_.all()
                                                       .integers(none)
                                                       .integers(none)
                                                       .integers(none)
                                                       .time(floor_)
                                                       .integer(keep_history_ ? 1 : 0)});
        }
        return commands;
    }

    // Hands out what was done. Returns the latest reading of the clock, if there was any.
    [[nodiscard]] Time take(const std::vector<Rows>& answers, std::span<const Request> requests,
                            std::span<Outcome> outcomes) const {
        Time latest{};
        std::size_t at = 0;
        if (!tries_.indices.empty()) {
            const Rows& rows = answers[at++];
            const std::vector<std::size_t> places = tries_.places(rows);
            for (int row = 0; row < rows.size(); ++row) {
                const std::size_t index = tries_.indices[places[static_cast<std::size_t>(row)]];
                const auto& request = std::get<TryLock>(requests[index]);
                const Time now = rows.time(row, 2);
                outcomes[index] = Lease{.key = request.key,
                                        .lock_id = request.lock_id,
                                        .owner = request.owner,
                                        .mode = Mode::exclusive,
                                        .fence = rows.integer(row, 1),
                                        .granted_at = now,
                                        .expires_at = rows.time(row, 3),
                                        .note = request.note,
                                        .store_now = now};
                latest = std::max(latest, now);
            }
        }
        for (const Named* named : {&checks_, &prolongs_, &releases_}) {
            if (named->indices.empty()) continue;
            const Rows& rows = answers[at++];
            const std::vector<std::size_t> places = named->places(rows);
            for (int row = 0; row < rows.size(); ++row) {
                const std::size_t place = places[static_cast<std::size_t>(row)];
                const Time now = rows.time(row, 6);
                const Time expires_at = rows.time(row, 4);
                latest = std::max(latest, now);
                if (expires_at <= now) continue;  // a check of a lease that has expired
                outcomes[named->indices[place]] =
                                  Lease{.key = {named->types[place], named->ids[place]},
                                        .lock_id = lock_id_from(rows.text(row, 0)),
                                        .owner = std::string{rows.text(row, 1)},
                                        .mode = Mode::exclusive,
                                        .fence = rows.integer(row, 2),
                                        .granted_at = rows.time(row, 3),
                                        .expires_at = expires_at,
                                        .note = std::string{rows.text(row, 5)},
                                        .store_now = now};
            }
        }
        return latest;
    }

private:
    static constexpr std::int64_t unbounded = -1;

    // Requests with their keys and lock ids, side by side.
    struct Named : KeyColumns {
        void add(std::size_t index, const LockKey& key, LockId lock_id) {
            KeyColumns::add(key);
            lock_ids.push_back(lock_id.to_string());
            indices.push_back(index);
        }
        [[nodiscard]] Parameters first() const {
            Parameters p;
            p.text(types[0]).text(ids[0]).text(lock_ids[0]);
            return p;
        }
        [[nodiscard]] Parameters all() const {
            Parameters p;
            p.texts(types).texts(ids).texts(lock_ids);
            return p;
        }
        // Which of them each row of an answer is about, by the lock id in its first column.
        [[nodiscard]] std::vector<std::size_t> places(const Rows& rows) const {
            std::unordered_map<std::string_view, std::size_t> place_of;
            for (std::size_t i = 0; i < lock_ids.size(); ++i) place_of.emplace(lock_ids[i], i);
            std::vector<std::size_t> places;
            for (int row = 0; row < rows.size(); ++row) places.push_back(place_of.at(rows.text(row, 0)));
            return places;
        }
        std::vector<std::string> lock_ids;
        std::vector<std::size_t> indices;
    };

    template <class R>
    void prolong(std::size_t index, const R& r, std::int64_t by, Duration until) {
        prolongs_.add(index, *r.key, r.lock_id);
        bys_.push_back(by);
        until_.push_back(until.count());
        holds_.push_back(r.max_hold ? r.max_hold->count() : unbounded);
    }

    Time floor_;
    bool keep_history_;
    Named tries_, checks_, prolongs_, releases_;
    std::vector<std::string> owners_, notes_;
    std::vector<std::int64_t> ttls_, bys_, until_, holds_;
};

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
    bool shortcut(std::span<const Request> requests, std::span<const std::size_t> which,
                  std::span<Outcome> outcomes) override {
        Shortcuts shortcuts{clock_.floor(), options_.history == StoreOptions::KeepHistory::on};
        for (const std::size_t index : which) {
            std::visit([&](const auto& request) { shortcuts.add(index, request); }, requests[index]);
        }
        const std::vector<Command> commands = shortcuts.commands();
        const auto asked = SteadyClock::now();
        const std::vector<Rows> answers = run(commands, Commits::yes);
        const auto answered = SteadyClock::now();
        const Time latest = shortcuts.take(answers, requests, outcomes);
        if (latest > Time{}) clock_.observe(latest, asked, answered);
        return true;
    }

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
