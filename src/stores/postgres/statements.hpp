#pragma once

#include <string>
#include <string_view>

// Everything this store says to PostgreSQL while it works.
namespace leasehold::postgres::sql {

// Keys travel as arrays, so that one statement serves a batch of any size. `lateral` makes the plan
// one search for each of them: a join might be planned as a scan while the table is small, and stay
// one when it has grown.

inline constexpr std::string_view begin = "begin";
inline constexpr std::string_view commit = "commit";
inline constexpr std::string_view rollback = "rollback";
inline constexpr std::string_view clock = "select clock_timestamp(), time_floor from leasehold";

// Locks what nobody else has locked, without waiting, and tells which.
// lab: lock-rows
inline constexpr std::string_view lock_rows = R"(
select n from unnest($1::text[], $2::text[]) with ordinality as q (type, id, n)
cross join lateral (
    select from locks l where l.type = q.type and l.id = q.id for update skip locked) l)";

// A row and its shares, in one snapshot: another server may be converting one into the other.
// lab: read-rows
inline constexpr std::string_view read_rows = R"(
select n, l.*, s.*
from unnest($1::text[], $2::text[]) with ordinality as q (type, id, n)
cross join lateral (
    select lockid, expiration_time, owner, mode, fence, granted_at, touched_at, note, ended,
           ended_at, ended_by, ended_why
    from locks l where l.type = q.type and l.id = q.id offset 0) l
left join lateral (
    select lockid, expiration_time, owner, fence, granted_at, note
    from lock_shares s where l.mode = 1 and s.type = q.type and s.id = q.id order by fence
    offset 0) s on true)";

inline constexpr std::string_view read_past = R"(
select h.type, h.id, h.lockid, owner, mode, fence, granted_at, expiration_time, ended, ended_at,
       ended_by, ended_why, note, seq
from unnest($1::text[]) as q (lockid)
cross join lateral (select * from lock_history h where h.lockid = q.lockid offset 0) h
order by seq)";

inline constexpr std::string_view update_rows = R"(
update locks l
set lockid = v.lockid, expiration_time = v.expiration_time, owner = v.owner, mode = v.mode,
    fence = v.fence, granted_at = v.granted_at, touched_at = v.touched_at, note = v.note,
    ended = v.ended, ended_at = v.ended_at, ended_by = v.ended_by, ended_why = v.ended_why
from unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::text[], $6::bigint[],
            $7::bigint[], $8::timestamptz[], $9::timestamptz[], $10::text[], $11::bigint[],
            $12::timestamptz[], $13::text[], $14::text[])
    as v (type, id, lockid, expiration_time, owner, mode, fence, granted_at, touched_at, note, ended,
          ended_at, ended_by, ended_why)
cross join lateral (
    select l.ctid as place from locks l where l.type = v.type and l.id = v.id offset 0) at
where l.ctid = at.place)";

inline constexpr std::string_view insert_rows = R"(
insert into locks (type, id, lockid, expiration_time, owner, mode, fence, granted_at, touched_at,
                   note, ended, ended_at, ended_by, ended_why)
select * from unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::text[], $6::bigint[],
                     $7::bigint[], $8::timestamptz[], $9::timestamptz[], $10::text[], $11::bigint[],
                     $12::timestamptz[], $13::text[], $14::text[]))";

inline constexpr std::string_view delete_rows = R"(
delete from locks l
using unnest($1::text[], $2::text[]) as v (type, id)
cross join lateral (
    select l.ctid as place from locks l where l.type = v.type and l.id = v.id offset 0) at
where l.ctid = at.place)";

inline constexpr std::string_view write_shares = R"(
insert into lock_shares (type, id, lockid, expiration_time, owner, fence, granted_at, note)
select * from unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::text[], $6::bigint[],
                     $7::timestamptz[], $8::text[])
on conflict (type, id, lockid) do update
set expiration_time = excluded.expiration_time, fence = excluded.fence, note = excluded.note)";

// lab: delete-shares
inline constexpr std::string_view delete_shares = R"(
delete from lock_shares s
using unnest($1::text[], $2::text[], $3::text[]) as v (type, id, lockid)
cross join lateral (
    select s.ctid as place from lock_shares s
    where s.type = v.type and s.id = v.id and s.lockid = v.lockid offset 0) at
where s.ctid = at.place)";

inline constexpr std::string_view add_history = R"(
insert into lock_history (type, id, lockid, owner, mode, fence, granted_at, expiration_time, ended,
                          ended_at, ended_by, ended_why, note)
select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[],
                     $7::timestamptz[], $8::timestamptz[], $9::bigint[], $10::timestamptz[],
                     $11::text[], $12::text[], $13::text[]))";

// If another store is just doing the same, that will do.
inline constexpr std::string_view raise_floor = R"(
with free as materialized (select from leasehold for update skip locked)
update leasehold set time_floor = greatest(time_floor, $1::timestamptz)
where exists (select from free))";

inline constexpr std::string_view locate = R"(
select lockid, type, id from locks where lockid = any ($1::text[])
union all select lockid, type, id from lock_shares where lockid = any ($1::text[])
union all select lockid, type, id from lock_history where lockid = any ($1::text[]))";

// $1 the owner itself, $2 to $3 the range of owners below it.
inline constexpr std::string_view keys_of = R"(
select type, id from locks where ended = 0 and owner <> '' and owner = $1::text
union select type, id from lock_shares where owner <> '' and owner = $1::text
union select type, id from locks
      where ended = 0 and owner <> '' and owner >= $2::text and owner < $3::text
union select type, id from lock_shares where owner <> '' and owner >= $2::text and owner < $3::text)";

inline constexpr std::string_view scan = R"(
select type, id, expiration_time <= $3::timestamptz from locks
where (type, id) > ($1::text, $2::text)
  and octet_length(type) between 1 and 128 and octet_length(id) between 1 and 512
  and (type || id) !~ '[\x01-\x1f\x7f-\x9f]'
order by type, id limit $4::bigint)";

// $2, $3, $4 the last of the page before; $5 a type or ''; $6 whether to ask for an owner, $7 the
// owner, $8 to $9 the range of owners below.
inline constexpr std::string_view list = R"(
select type, id, owner, 0::bigint, fence, granted_at, expiration_time, note
from locks
where mode = 0 and ended = 0 and expiration_time > $1::timestamptz
  and octet_length(type) between 1 and 128 and octet_length(id) between 1 and 512
  and (type || id) !~ '[\x01-\x1f\x7f-\x9f]'
  and (type, id) >= ($2::text, $3::text) and (type, id, fence) > ($2::text, $3::text, $4::bigint)
  and ($5::text = '' or type = $5::text)
  and ($6::bigint = 0 or owner = $7::text or (owner >= $8::text and owner < $9::text))
union all
select type, id, owner, 1::bigint, fence, granted_at, expiration_time, note
from lock_shares
where expiration_time > $1::timestamptz
  and (type, id) >= ($2::text, $3::text) and (type, id, fence) > ($2::text, $3::text, $4::bigint)
  and ($5::text = '' or type = $5::text)
  and ($6::bigint = 0 or owner = $7::text or (owner >= $8::text and owner < $9::text))
order by type, id, fence limit $10::bigint)";

inline constexpr std::string_view history = R"(
select type, id, lockid, owner, mode, fence, granted_at, expiration_time, ended, ended_at, ended_by,
       ended_why, note, seq
from lock_history where seq < $1::bigint and ended_at >= $2::timestamptz
order by seq desc limit $3::bigint)";

inline constexpr std::string_view history_of_key = R"(
select type, id, lockid, owner, mode, fence, granted_at, expiration_time, ended, ended_at, ended_by,
       ended_why, note, seq
from lock_history
where seq < $1::bigint and ended_at >= $2::timestamptz and type = $4::text and id = $5::text
order by seq desc limit $3::bigint)";

inline constexpr std::string_view forget_history = R"(
delete from lock_history where seq in (
    select seq from (select seq, ended_at from lock_history order by seq limit $2::bigint) oldest
    where ended_at < $1::timestamptz))";

// The shortcuts: one statement decides, changes and commits. Each locks its rows first, without
// waiting, and takes the time when it has them; $1 is the least time to use. They come in two
// forms, for one request and for many, which differ in where q comes from; n counts its rows. A row
// that was locked is changed by its place, which takes no second search for it.

inline const std::string try_q_one =
    "(select $2::text as type, $3::text as id, $4::text as lockid, $5::text as owner, "
    "$6::text as note, $7::bigint as ttl) q";
inline const std::string try_q_many =
    "unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[]) "
    "as q (type, id, lockid, owner, note, ttl)";

// For lock ids that may have been used before.
// lab: unused-lock-id
inline const std::string unused = R"(
      and not exists (
          select from lock_history h where h.lockid = q.lockid
          union all select from lock_shares s where s.lockid = q.lockid
          union all select from locks l where l.lockid = q.lockid))";

// A key that is free because its last lease was ended, or that was never locked. The insert meets a
// row that is there already, and ours, or one that somebody has just made. (A `not exists` in the
// place of the `is null` could be planned as a hash of the whole table.)
inline std::string try_statement(const std::string& q, const std::string& condition) {
    // lab: take
    return R"(
insert into locks as l (type, id, lockid, expiration_time, owner, note, fence, granted_at, touched_at)
select type, id, lockid, now + ttl * interval '1 microsecond', owner, note,
       (date_part('epoch', now) * 1000000)::bigint, now, now
from (
    select q.*, greatest(clock_timestamp(), $1::timestamptz,
                         case when free is null then (select time_floor from leasehold) end) as now
    from )" +
           q +
           R"( left join lateral (
        select true as free from locks l
        where l.type = q.type and l.id = q.id
          and l.ended <> 0 and l.expiration_time <= clock_timestamp()
        for update skip locked) f on true
    where (free or (select true from locks l where l.type = q.type and l.id = q.id) is null))" +
           condition + R"() wanted
on conflict (type, id) do update
set lockid = excluded.lockid,
    expiration_time = greatest(excluded.granted_at, l.touched_at)
                      + (excluded.expiration_time - excluded.granted_at),
    owner = excluded.owner, mode = 0, fence = greatest(excluded.fence, l.fence + 1),
    granted_at = greatest(excluded.granted_at, l.touched_at),
    touched_at = greatest(excluded.granted_at, l.touched_at),
    note = excluded.note, ended = 0, ended_at = '-infinity', ended_by = '', ended_why = ''
where l.ended <> 0 and l.expiration_time <= greatest(excluded.granted_at, l.touched_at)
  and l.lockid <> excluded.lockid
returning type, id, fence, granted_at, expiration_time)";
}

inline const std::string try_one = try_statement(try_q_one, unused);
inline const std::string try_many = try_statement(try_q_many, unused);
inline const std::string try_fresh_one = try_statement(try_q_one, "");
inline const std::string try_fresh_many = try_statement(try_q_many, "");

inline std::string check_statement(const std::string& q) {
    return R"(
select n, l.owner, l.fence, l.granted_at, l.expiration_time, l.note,
       greatest(clock_timestamp(), l.touched_at, $1::timestamptz)
from )" + q +
           R"( cross join lateral (
    select owner, fence, granted_at, expiration_time, note, touched_at from locks l
    where l.type = q.type and l.id = q.id and l.lockid = q.lockid and l.ended = 0 and l.mode = 0
    offset 0) l)";
}

inline const std::string check_one = check_statement(
    "(select $2::text as type, $3::text as id, $4::text as lockid, 1::bigint as n) q");
inline const std::string check_many = check_statement(
    "unnest($2::text[], $3::text[], $4::text[]) with ordinality as q (type, id, lockid, n)");

inline const std::string change_q_one =
    "(select $2::text as type, $3::text as id, $4::text as lockid, $5::bigint as by, "
    "$6::bigint as ttl, $7::bigint as max_hold, 1::bigint as n) q";
inline const std::string change_q_many =
    "unnest($2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[]) "
    "with ordinality as q (type, id, lockid, by, ttl, max_hold, n)";

// What becomes of one's own exclusive leases that are alive.
inline std::string change_statement(const std::string& changes, const std::string& q) {
    // lab: change
    return "update locks l set touched_at = mine.now, " + changes + R"(
from (
    select q.*, l.*, greatest(clock_timestamp(), l.touched_at, $1::timestamptz) as now
    from )" +
           q +
           R"( cross join lateral (
        select l.ctid as place, l.expiration_time, l.granted_at, l.touched_at from locks l
        where l.type = q.type and l.id = q.id
          and l.lockid = q.lockid and l.ended = 0 and l.mode = 0
          and l.expiration_time > clock_timestamp() and l.expiration_time < 'infinity'
        for update skip locked) l) mine
where l.ctid = mine.place and mine.expiration_time > mine.now
returning n, l.owner, l.fence, l.granted_at, )";
}

// Renewing is extending without `by`; -1 stands for no such bound.
inline const std::string prolonged = R"(greatest(mine.expiration_time, least(
        mine.expiration_time + nullif(mine.by, -1) * interval '1 microsecond',
        mine.now + mine.ttl * interval '1 microsecond',
        mine.granted_at + nullif(mine.max_hold, -1) * interval '1 microsecond')))";

inline std::string prolong_statement(const std::string& q) {
    return change_statement("expiration_time = " + prolonged, q) +
           "l.expiration_time, l.note, mine.now";
}

inline const std::string prolong_one = prolong_statement(change_q_one);
inline const std::string prolong_many = prolong_statement(change_q_many);

// Ends those without a ttl and prolongs the others: two statements would cost more.
inline std::string release_statement(const std::string& q) {
    return change_statement(
               "expiration_time = case when mine.ttl < 0 then mine.now else " + prolonged + R"( end,
    ended = case when mine.ttl < 0 then 2 else 0 end,
    ended_at = case when mine.ttl < 0 then mine.now else l.ended_at end)",
               q) +
           R"(case when mine.ttl < 0 then mine.expiration_time else l.expiration_time end
    as expiration_time, l.note, mine.now)";
}

inline std::string release_and_keep_statement(const std::string& q) {
    return "with done as (" + release_statement(q) + R"(, l.ended, l.type, l.id, l.lockid),
kept as (
    insert into lock_history (type, id, lockid, owner, mode, fence, granted_at, expiration_time,
                              ended, ended_at, ended_by, ended_why, note)
    select type, id, lockid, owner, 0, fence, granted_at, expiration_time, 2, now, '', '', note
    from done where ended <> 0)
select n, owner, fence, granted_at, expiration_time, note, now from done)";
}

inline const std::string release_one = release_statement(change_q_one);
inline const std::string release_many = release_statement(change_q_many);
inline const std::string release_and_keep_one = release_and_keep_statement(change_q_one);
inline const std::string release_and_keep_many = release_and_keep_statement(change_q_many);

}  // namespace leasehold::postgres::sql
