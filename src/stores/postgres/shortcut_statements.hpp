#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/sql_text.hpp"
#include "stores/postgres/columns.hpp"
#include "stores/postgres/waits.hpp"

// The shortcuts' statements. Each one does the whole work of its requests:
//
// 1. It locks the rows of the requests' keys, without waiting. A locked row is skipped.
// 2. It reads the clock. $1 is the floor: the least time to use.
// 3. It checks that the row is as the request expects.
// 4. It writes the row, and the history where a lease ends.
//
// A request whose row is not as expected changes nothing and gets no row in the answer. Each
// statement has two forms, for one request and for many, which differ in the source of q; n numbers
// the rows of q. A locked row is updated by its ctid, which saves a second search.
namespace leasehold::postgres::sql {

// Whether the tables have the version that this process knows, which is set on every connection. A
// statement that asks for it finds nothing in tables of another version.
inline const std::string current_schema =
    "(select schema = current_setting('leasehold.schema')::integer from leasehold)";

// $2 type, $3 id, $4 lockid, $5 ttl, $6 max_hold (-1: none), $7... requested_columns.
inline const std::string try_q_one = [] {
    int number = 6;
    return "(select $2::text as type, $3::text as id, $4::text as lockid, $5::bigint as ttl, "
           "nullif($6::bigint, -1) as max_hold, " +
           listed(requested_columns,
                  [&](const std::string& name) {
                      return "$" + std::to_string(++number) + "::text as " + name;
                  }) +
           ") q";
}();
inline const std::string try_q_many = [] {
    int number = 6;
    const std::string requested = names_of(requested_columns);
    return "(select type, id, lockid, ttl, nullif(max_hold, -1) as max_hold, " + requested +
           " from unnest($2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], " +
           listed(requested_columns,
                  [&](const std::string&) { return "$" + std::to_string(++number) + "::text[]"; }) +
           ") as q (type, id, lockid, ttl, max_hold, " + requested + ")) q";
}();

// For lock ids that may have been used before.
// lab: unused-lock-id
inline const std::string unused = R"(
      and not exists (
          select from lock_history h where h.lockid = q.lockid
          union all select from lock_shares s where s.lockid = q.lockid
          union all select from locks l where l.lockid = q.lockid))";

// The value of a column of `locks` after a try, made from `wanted`: a row of q beside the old row.
// `empty` is the value of a column that nothing is known about.
inline std::string tried_value(const std::string& column, std::string_view empty) {
    if (column == "lockid") return "case when renewed then old_lockid else lockid end";
    if (column == "expiration_time") {
        return R"(case when renewed
        then greatest(old_expiration_time, least(now + ttl * interval '1 microsecond',
                                                 old_granted_at + max_hold * interval '1 microsecond'))
        else now + least(ttl, max_hold) * interval '1 microsecond' end)";
    }
    if (column == "fence") {
        // lab: tried-fence
        return R"(case when renewed then old_fence
        else greatest((date_part('epoch', now) * 1000000)::bigint, old_fence + 1) end)";
    }
    if (column == "granted_at") return "case when renewed then old_granted_at else now end";
    if (column == "mode") return std::string{sql_number<Mode::exclusive>};
    if (column == "touched_at") return "now";
    if (column == "ended") return std::string{sql_number<Gone::unknown>};
    if (column == "ended_at") return "'-infinity'::timestamptz";
    if (column == "ended_by" || column == "ended_why") return "''";
    bool requested = false;
    for_each_column(requested_columns, [&](const auto& each) { requested |= each.name == column; });
    if (!requested) {
        return "case when renewed then old_" + column + " else " + std::string{empty} + " end";
    }
    return "case when renewed and " + column + " = '' then old_" + column + " else " + column +
           " end";
}

inline std::string tried_values() {
    std::string list;
    for_each_column(lock_columns, [&]<class Field>(const Column<Field>& column) {
        using T = std::remove_cvref_t<std::invoke_result_t<Field, LockRow&>>;
        constexpr std::string_view empty = StoredAsTime<T>      ? "'epoch'::timestamptz"
                                           : StoredAsInteger<T> ? "0::bigint"
                                                                : "''";
        if (!list.empty()) list += ", ";
        list += tried_value(std::string{column.name}, empty);
    });
    return list;
}

// Takes a key that was never locked or whose last lease was ended, or renews the live exclusive
// lease that the same owner has already. The conflict is with the row that was found and locked
// here, or with a row that another transaction has just inserted; the fences tell which. (A `not
// exists` in the place of `is null` could be planned as a hash of the whole table.)
// Columns: type, id, lease_columns, touched_at.
inline std::string try_statement(const std::string& q, const std::string& condition) {
    // lab: take
    return sql_text(R"(
insert into locks as l (type, id, {columns})
select type, id, {values}
from (
    select q.*, old.*,
           greatest(clock_timestamp(), $1::timestamptz, old_touched_at,
                    case when old_fence is null then (select time_floor from leasehold) end) as now
    from {q} left join lateral (
        select {old_columns}, l.touched_at as old_touched_at, l.ended = {not_ended} as renewed
        from locks l
        where l.type = q.type and l.id = q.id and l.lockid <> q.lockid
          and (l.ended in ({endings}) and l.mode in ({modes})
                  and l.expiration_time <= clock_timestamp()
               or l.ended = {not_ended} and l.mode = {exclusive}
                  and l.owner <> '' and l.owner = q.owner and l.token_id = q.token_id)
        for update skip locked) old on true
    where (old_fence is not null
           or (select true from locks l where l.type = q.type and l.id = q.id) is null)
      and {current_schema}{condition}
) wanted
where renewed is not true or old_expiration_time > now
on conflict (type, id) do update set {assignments}
where case when l.ended = {not_ended}
           then l.lockid = excluded.lockid and l.fence = excluded.fence
           else l.lockid <> excluded.lockid and l.fence < excluded.fence
                and l.touched_at <= excluded.touched_at end
returning type, id, {lease_columns}, touched_at)",
                    {{"columns", names_of(lock_columns)},
                     {"values", tried_values()},
                     {"q", q},
                     {"old_columns", listed(lease_columns,
                                            [](const std::string& name) {
                                                return "l." + name + " as old_" + name;
                                            })},
                     {"current_schema", current_schema},
                     {"condition", condition},
                     {"assignments",
                      listed(lock_columns,
                             [](const std::string& name) { return name + " = excluded." + name; })},
                     {"lease_columns", names_of(lease_columns)}});
}

inline const std::string try_one = try_statement(try_q_one, unused);
inline const std::string try_many = try_statement(try_q_many, unused);
inline const std::string try_fresh_id_one = try_statement(try_q_one, "");
inline const std::string try_fresh_id_many = try_statement(try_q_many, "");

// Columns: n, public_columns, the time.
inline std::string check_statement(const std::string& q) {
    return sql_text(
        R"(
select n, {columns}, greatest(clock_timestamp(), touched_at, $1::timestamptz)
from {q} cross join lateral (
    select {columns}, touched_at from locks l
    where l.type = q.type and l.id = q.id and l.lockid = q.lockid and l.ended = {not_ended}
      and l.mode = {exclusive}
    offset 0) l
where {current_schema})",
        {{"columns", names_of(public_columns)}, {"q", q}, {"current_schema", current_schema}});
}

inline const std::string check_one = check_statement(
    "(select $2::text as type, $3::text as id, $4::text as lockid, 1::bigint as n) q");
inline const std::string check_many = check_statement(
    "unnest($2::text[], $3::text[], $4::text[]) with ordinality as q (type, id, lockid, n)");

inline const std::string change_q_one =
    "(select $2::text as type, $3::text as id, $4::text as lockid, $5::bigint as by, "
    "$6::bigint as ttl, $7::bigint as max_hold, $8::text as released_by, 1::bigint as n) q";
inline const std::string change_q_many =
    "unnest($2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[], "
    "$8::text[]) with ordinality as q (type, id, lockid, by, ttl, max_hold, released_by, n)";

// Updates the caller's own live exclusive leases. Columns: n, public_columns with `expiry` as the
// expiration_time, the time.
inline std::string change_statement(const std::string& changes, const std::string& expiry,
                                    const std::string& q) {
    // lab: change
    return sql_text(R"(
update locks l set touched_at = mine.now, {changes}
from (
    select q.*, l.*, greatest(clock_timestamp(), l.touched_at, $1::timestamptz) as now
    from {q} cross join lateral (
        select l.ctid as place, l.expiration_time, l.granted_at, l.touched_at from locks l
        where l.type = q.type and l.id = q.id
          and l.lockid = q.lockid and l.ended = {not_ended} and l.mode = {exclusive}
          and l.expiration_time > clock_timestamp() and l.expiration_time < 'infinity'
        for update skip locked) l) mine
where l.ctid = mine.place and mine.expiration_time > mine.now and {current_schema}
returning n, {columns}, mine.now)",
                    {{"changes", changes},
                     {"current_schema", current_schema},
                     {"q", q},
                     {"columns", listed(public_columns, [&](const std::string& name) {
                          return (name == "expiration_time" ? expiry : "l." + name) + " as " + name;
                      })}});
}

// Renewing is extending without `by`; -1 means no such bound.
inline const std::string prolonged = R"(greatest(mine.expiration_time, least(
        mine.expiration_time + nullif(mine.by, -1) * interval '1 microsecond',
        mine.now + mine.ttl * interval '1 microsecond',
        mine.granted_at + nullif(mine.max_hold, -1) * interval '1 microsecond')))";

inline std::string prolong_statement(const std::string& q) {
    return change_statement("expiration_time = " + prolonged, "l.expiration_time", q);
}

inline const std::string prolong_one = prolong_statement(change_q_one);
inline const std::string prolong_many = prolong_statement(change_q_many);

inline std::string update_released(const std::string& q) {
    return change_statement(
        "expiration_time = case when mine.ttl < 0 then mine.now else " + prolonged + " end, " +
            sql_text("ended = case when mine.ttl < 0 then {released} else {not_ended} end, ") +
            "ended_at = case when mine.ttl < 0 then mine.now else l.ended_at end, "
            "ended_by = case when mine.ttl < 0 then mine.released_by else l.ended_by end",
        "case when mine.ttl < 0 then mine.expiration_time else l.expiration_time end", q);
}

// Ends the leases of the requests without a ttl and prolongs the others: two statements would cost
// more. One more column at the end: the number of a released key that somebody waits for, or 0.
inline std::string release_statement(const std::string& q) {
    return update_released(q) + ", " + number_to_notify("mine.ttl < 0", "l.type", "l.id");
}

inline std::string release_and_keep_statement(const std::string& q) {
    return sql_text(
        R"(
with done as ({release}, l.ended, l.ended_by, l.type, l.id, l.lockid, {private_columns}),
kept as (
    insert into lock_history (type, id, {history_columns})
    select type, id, {history_values} from done where ended <> {not_ended})
select n, {columns}, now, {number} from done)",
        {{"release", update_released(q)},
         {"number", number_to_notify(sql_text("ended <> {not_ended}"), "type", "id")},
         {"private_columns", names_of(private_columns, "l.")},
         {"history_columns", names_of(history_columns)},
         {"history_values", listed(history_columns,
                                   [](const std::string& name) -> std::string {
                                       if (name == "mode") {
                                           return std::string{sql_number<Mode::exclusive>};
                                       }
                                       if (name == "ended_at") return "now";
                                       if (name == "ended_why") return "''";
                                       return name;
                                   })},
         {"columns", names_of(public_columns)}});
}

inline const std::string release_one = release_statement(change_q_one);
inline const std::string release_many = release_statement(change_q_many);
inline const std::string release_and_keep_one = release_and_keep_statement(change_q_one);
inline const std::string release_and_keep_many = release_and_keep_statement(change_q_many);

}  // namespace leasehold::postgres::sql
