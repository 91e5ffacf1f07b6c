#pragma once

#include <string>

#include "core/sql_text.hpp"

// The advisory locks and notifications by which a watch learns of releases, see watch.hpp.
namespace leasehold::postgres::sql {

// The first number of all advisory locks of the watches. The second number says which one it is.
inline const std::string watches = "1818583411";
inline const std::string any_watch = "0";     // there is a watch
inline const std::string watch_of_all = "1";  // it needs every notification

// The number of a key, neither 0 nor 1. `type` and `id` are SQL.
inline std::string number_of_key(const std::string& type, const std::string& id) {
    return sql_text(R"((hashtext({type} || chr(10) || {id} collate "C") | 2))",
                    {{"type", type}, {"id", id}});
}

// Whether a watch has this lock. Two tests at the same moment may see each other; then a key is
// notified that nobody waits for.
inline std::string is_watched(const std::string& number) {
    return sql_text(
        "case when pg_try_advisory_lock({watches}, {number}) "
        "then not pg_advisory_unlock({watches}, {number}) else true end",
        {{"watches", watches}, {"number", number}});
}

// The number of a key that somebody waits for, otherwise 0, if the condition is true. The test for
// any watch is made once in a statement.
inline std::string number_to_notify(const std::string& condition, const std::string& type,
                                    const std::string& id) {
    return sql_text(
        "case when {condition} and (select {any}) and ({all} or {one}) then {number} else 0 end",
        {{"condition", condition},
         {"any", is_watched(any_watch)},
         {"all", is_watched(watch_of_all)},
         {"one", is_watched(number_of_key(type, id))},
         {"number", number_of_key(type, id)}});
}

// $1, $2: keys. Returns the numbers of the keys that a watch waits for.
inline const std::string keys_to_notify = sql_text(
    "select number from (select {number} as number from unnest($1::text[], $2::text[]) as q (type, "
    "id) offset 0) q where number <> 0",
    {{"number", number_to_notify("true", "q.type", "q.id")}});

inline constexpr const char* channel = "leasehold_released";

// $1: numbers. Loses the notification if PostgreSQL crashes now, which ends the watch, too.
inline const std::string notify = sql_text(
    "select set_config('synchronous_commit', 'off', true), pg_notify('{channel}', number::text) "
    "from unnest($1::bigint[]) as q (number)",
    {{"channel", channel}});

// $1, $2: a key. Both in one statement, on a connection of the caller's.
inline std::string notify_if_watched(const std::string& lock_patience) {
    return sql_text(
        "select set_config('lock_timeout', '{lock_patience}', true), "
        "set_config('synchronous_commit', 'off', true), pg_notify('{channel}', number::text) "
        "from (select {number} as number from (values ($1::text, $2::text)) as q (type, id) "
        "offset 0) q where number <> 0",
        {{"lock_patience", lock_patience},
         {"channel", channel},
         {"number", number_to_notify("true", "q.type", "q.id")}});
}

// $1, $2: keys; $3: how many of them are locked. Returns their numbers, in the same order.
inline const std::string watch_keys = sql_text(
    "select number, case when n <= $3::bigint "
    "then pg_advisory_lock_shared({watches}, number) is null end "
    "from (select {number} as number, n from unnest($1::text[], $2::text[]) with ordinality "
    "as q (type, id, n) offset 0) q order by n",
    {{"watches", watches}, {"number", number_of_key("q.type", "q.id")}});
// $1: numbers.
inline const std::string stop_watching = sql_text(
    "select pg_advisory_unlock_shared({watches}, number::integer) from unnest($1::bigint[]) as q "
    "(number)",
    {{"watches", watches}});

}  // namespace leasehold::postgres::sql
