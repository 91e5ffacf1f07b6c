#pragma once

#include <string>
#include <string_view>

#include <leasehold/limits.hpp>

#include "core/sql_text.hpp"
#include "stores/postgres/columns.hpp"

// All statements that this store sends to PostgreSQL while it works, except the shortcuts.
namespace leasehold::postgres::sql {

// Keys are sent as arrays, so that one statement serves a batch of any size. `lateral` makes the
// plan one index search for each key: a join could be planned as a scan while the table is small,
// and would stay a scan when the table has grown.

inline constexpr std::string_view begin = "begin";
inline constexpr std::string_view commit = "commit";
inline constexpr std::string_view rollback = "rollback";
inline constexpr std::string_view clock =
    "select clock_timestamp(), time_floor, schema from leasehold";

// Locks the rows that no other transaction has locked, without waiting, and returns which.
// lab: lock-rows
inline constexpr std::string_view lock_rows = R"(
select n from unnest($1::text[], $2::text[]) with ordinality as q (type, id, n)
cross join lateral (
    select from locks l where l.type = q.type and l.id = q.id for update skip locked) l)";

// A row and its shares, in one snapshot: another server may be converting one into the other.
// Columns: n, lock_columns, share_columns.
// lab: read-rows
inline const std::string read_rows = sql_text(
    R"(
select n, l.*, s.*
from unnest($1::text[], $2::text[]) with ordinality as q (type, id, n)
cross join lateral (
    select {lock_columns} from locks l where l.type = q.type and l.id = q.id offset 0) l
left join lateral (
    select {share_columns} from lock_shares s
    where l.mode = {shared} and s.type = q.type and s.id = q.id order by fence offset 0) s on true)",
    {{"lock_columns", names_of(lock_columns)}, {"share_columns", names_of(share_columns)}});

// Every statement on the history returns: type, id, history_columns, seq.
inline const std::string past_columns = "type, id, " + names_of(history_columns) + ", seq";

inline const std::string read_past = sql_text(R"(
select {past_columns}
from unnest($1::text[]) as q (asked)
cross join lateral (select * from lock_history h where h.lockid = q.asked offset 0) h
order by seq)",
                                              {{"past_columns", past_columns}});

inline const std::string update_rows =
    sql_text(R"(
update locks l set {assignments}
from unnest({parameters}) as v (type, id, {columns})
cross join lateral (
    select l.ctid as place from locks l where l.type = v.type and l.id = v.id offset 0) at
where l.ctid = at.place)",
             {{"assignments",
               listed(lock_columns, [](const std::string& name) { return name + " = v." + name; })},
              {"parameters", array_parameters<LockRow>(lock_columns)},
              {"columns", names_of(lock_columns)}});

inline const std::string insert_rows = sql_text(
    "insert into locks (type, id, {columns}) select * from unnest({parameters})",
    {{"columns", names_of(lock_columns)}, {"parameters", array_parameters<LockRow>(lock_columns)}});

inline constexpr std::string_view delete_rows = R"(
delete from locks l
using unnest($1::text[], $2::text[]) as v (type, id)
cross join lateral (
    select l.ctid as place from locks l where l.type = v.type and l.id = v.id offset 0) at
where l.ctid = at.place)";

inline const std::string write_shares =
    sql_text(R"(
insert into lock_shares (type, id, {columns}) select * from unnest({parameters})
on conflict (type, id, lockid) do update set {assignments})",
             {{"columns", names_of(share_columns)},
              {"parameters", array_parameters<Grant>(share_columns)},
              {"assignments", listed(public_columns, [](const std::string& name) {
                   return name + " = excluded." + name;
               })}});

// lab: delete-shares
inline constexpr std::string_view delete_shares = R"(
delete from lock_shares s
using unnest($1::text[], $2::text[], $3::text[]) as v (type, id, lockid)
cross join lateral (
    select s.ctid as place from lock_shares s
    where s.type = v.type and s.id = v.id and s.lockid = v.lockid offset 0) at
where s.ctid = at.place)";

inline const std::string add_history =
    sql_text("insert into lock_history (type, id, {columns}) select * from unnest({parameters})",
             {{"columns", names_of(history_columns)},
              {"parameters", array_parameters<Ending>(history_columns)}});

// Does nothing while another store raises the floor.
inline constexpr std::string_view raise_floor = R"(
with free as materialized (select from leasehold for update skip locked)
update leasehold set time_floor = greatest(time_floor, $1::timestamptz)
where exists (select from free))";

inline constexpr std::string_view locate = R"(
select lockid, type, id from locks where lockid = any ($1::text[])
union all select lockid, type, id from lock_shares where lockid = any ($1::text[])
union all select lockid, type, id from lock_history where lockid = any ($1::text[]))";

// $1 the owner itself, $2 to $3 the range of owners below it, $4 the most rows of each kind. The
// third column: whether the lease has not ended.
inline const std::string keys_of = sql_text(R"(
(select type, id, ended not in ({endings}) from locks
 where owner <> '' and owner = $1::text limit $4::bigint)
union all
(select type, id, true from lock_shares where owner <> '' and owner = $1::text limit $4::bigint)
union all
(select type, id, ended not in ({endings}) from locks
 where owner <> '' and owner >= $2::text and owner < $3::text limit $4::bigint)
union all
(select type, id, true from lock_shares
 where owner <> '' and owner >= $2::text and owner < $3::text limit $4::bigint))");

// The rows of `locks` whose keys fit our limits. Programs of the pattern's own kind may add others.
inline const std::string has_our_key =
    "octet_length(type) between 1 and " + std::to_string(Limits::type_bytes) +
    " and octet_length(id) between 1 and " + std::to_string(Limits::id_bytes) +
    R"( and (type || id) !~ '[\x01-\x1f\x7f-\x9f]')";

inline const std::string scan = sql_text(R"(
select type, id, expiration_time <= $3::timestamptz from locks
where (type, id) > ($1::text, $2::text) and {has_our_key}
order by type, id limit $4::bigint)",
                                         {{"has_our_key", has_our_key}});

// The key that is $3 + 1 rows behind ($1, $2).
inline const std::string place_behind = sql_text(R"(
(select type, id from locks where (type, id) > ($1::text, $2::text) and {has_our_key}
 order by type, id limit 1 offset $3::bigint)
union all
(select type, id from lock_shares where (type, id) > ($1::text, $2::text)
 order by type, id limit 1 offset $3::bigint)
order by type, id limit 1)",
                                                 {{"has_our_key", has_our_key}});

// $2, $3, $4: the last lease of the page before; $5: a type or ''; $6: whether an owner is asked
// for, $7: the owner, $8 to $9: the range of owners below; $11, $12: the last key to look at. The
// primary key finds the rows, never the index of owners: "owner || ''" is not in it. Columns: type,
// id, listed_columns.
inline const std::string list =
    sql_text(R"(
select type, id, {columns}, mode::bigint, ended::bigint
from locks
where mode <> {shared} and ended not in ({endings}) and expiration_time > $1::timestamptz
  and {has_our_key}
  and (type, id) >= ($2::text, $3::text) and (type, id, fence) > ($2::text, $3::text, $4::bigint)
  and ($5::text = '' or type = $5::text)
  and (type, id) <= ($11::text, $12::text)
  and ($6::bigint = 0 or owner || '' = $7::text
       or (owner || '' >= $8::text and owner || '' < $9::text))
union all
select type, id, {columns}, {shared}::bigint, {not_ended}::bigint
from lock_shares
where expiration_time > $1::timestamptz
  and (type, id) >= ($2::text, $3::text) and (type, id, fence) > ($2::text, $3::text, $4::bigint)
  and ($5::text = '' or type = $5::text)
  and (type, id) <= ($11::text, $12::text)
  and ($6::bigint = 0 or owner || '' = $7::text
       or (owner || '' >= $8::text and owner || '' < $9::text))
order by type, id, fence limit $10::bigint)",
             {{"columns", names_of(public_columns)}, {"has_our_key", has_our_key}});

inline const std::string history = sql_text(R"(
select {past_columns} from lock_history where seq < $1::bigint
order by seq desc limit $2::bigint)",
                                            {{"past_columns", past_columns}});

inline const std::string history_of_key = sql_text(R"(
select {past_columns} from lock_history
where seq < $1::bigint and type = $3::text and id = $4::text
order by seq desc limit $2::bigint)",
                                                   {{"past_columns", past_columns}});

inline constexpr std::string_view forget_history = R"(
delete from lock_history where seq in (
    select seq from (select seq, ended_at from lock_history order by seq limit $2::bigint) oldest
    where ended_at < $1::timestamptz))";

}  // namespace leasehold::postgres::sql
