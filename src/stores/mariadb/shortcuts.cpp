#include "stores/mariadb/shortcuts.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <string_view>
#include <vector>

#include "core/columns.hpp"
#include "core/sql_text.hpp"
#include "stores/mariadb/rows.hpp"

// How the statements decide. MariaDB evaluates the assignments of ON DUPLICATE KEY UPDATE one after
// the other on the locked row, and each one sees the values that the earlier ones assigned.
//
// 1. The first assignment reads the clock into @now, checks the row, and leaves its decision in
//    `mode`: a mark above every Mode if the row is as expected.
// 2. The next assignments change their columns if `mode` has such a mark.
// 3. The last assignment replaces the mark with the mode.
//
// Prolonging is written as an insert of the row that is there already, because UPDATE cannot return
// rows. Each inserted value is the row's own.
namespace leasehold::mariadb {
namespace {

// Later than every time that is used, and exact in a double, which MariaDB may calculate with.
constexpr std::int64_t unbounded_us = std::int64_t{1} << 52U;

// The marks in `mode`.
constexpr std::string_view granted = "8";  // the key was free: a new lease
constexpr std::string_view renewed = "9";  // the lease was the caller's own: a later expiry
static_assert(enum_size<Mode> <= 8, "a mark must differ from every mode");

const std::string clock_us = "cast(unix_timestamp(sysdate(6)) * 1000000 as signed)";

// Every answer has these columns: type, id, the lease as it is now or was until now, its mode, its
// end, when it was touched, and the time of the decision.
const std::string answer_columns =
    "type, id, " + names_of(lease_columns) + ", mode, ended, touched_at, ";
constexpr unsigned mode_at = 2 + count_of(lease_columns);
constexpr unsigned ended_column = mode_at + 1;
constexpr unsigned touched_column = mode_at + 2;
constexpr unsigned now_column = mode_at + 3;
static_assert(now_column < Statement::most_columns);

// The time: the clock, but never before the row was touched last, nor before the floor.
std::string time_after(const std::string& touched, const std::string& floor) {
    return "greatest(" + clock_us + ", " + touched + ", " + floor + ")";
}

// Whether the tables have the version that this process knows, which is set on every connection. A
// statement that asks for it finds nothing in tables of another version.
const std::string current_schema =
    "(select value from leasehold where name = 'schema') = @leasehold_schema";

// The value of a column of `locks` after a try of a key that was free.
std::string granted_value(const std::string& column) {
    if (column == "expiration_time") return "@now + value(expiration_time) - value(granted_at)";
    // lab: taken-fence
    if (column == "fence") return "greatest(locks.fence + 1, @now)";
    if (column == "granted_at" || column == "touched_at") return "@now";
    if (column == "ended") return std::string{sql_number<Gone::unknown>};
    if (column == "ended_at") return "0";
    if (column == "ended_by" || column == "ended_why") return "''";
    return "value(" + column + ")";
}

// The value after a try of one's own live lease.
std::string renewed_value(const std::string& column) {
    if (column == "expiration_time") {
        return "greatest(locks.expiration_time, least(@now + value(expiration_time) - "
               "value(granted_at), locks.granted_at + ?))";
    }
    if (column == "touched_at") return "@now";
    const std::string old = "locks." + column;
    bool requested = false;
    for_each_column(requested_columns, [&](const auto& each) { requested |= each.name == column; });
    return requested ? "if(value(" + column + ") = '', " + old + ", value(" + column + "))" : old;
}

enum class LockIds : std::uint8_t { fresh, perhaps_known };

// Takes a key that is free or has no row, or renews the caller's own live exclusive lease. A lock
// id that is in the history is dead, and a lock id of a share is in use: with these nothing is
// taken. A fresh lock id need not be looked up, and only a try with one renews. Parameters: type,
// id, lockid, requested_columns, floor, ttl, then lockid twice if it is looked up, and the longest
// time to hold the lease.
std::string take_statement(LockIds lock_ids) {
    const std::string row = "?, ?, ?, " +
                            listed(requested_columns, [](const std::string&) { return "?"; }) +
                            ", (@now := greatest(" + clock_us + ", ?)), @now, @now, @now + ?";
    std::string source = "select " + row + " from dual where " + current_schema;
    if (lock_ids == LockIds::perhaps_known) {
        source +=
            " and (select 1 from lock_history force index (lock_history_lockid) where lockid = ? "
            "limit 1) is null and (select 1 from lock_shares force index (lock_shares_lockid) "
            "where lockid = ? limit 1) is null";
    }
    std::string assignments;
    for_each_column(lock_columns, [&](const auto& column) {
        const std::string name{column.name};
        if (name == "mode" || name == "granted_at") return;
        assignments += sql_text(
            ", {name} = case locks.mode when {granted} then {granted_value} "
            "when {renewed} then {renewed_value} else locks.{name} end",
            {{"name", name},
             {"granted", granted},
             {"granted_value", granted_value(name)},
             {"renewed", renewed},
             {"renewed_value", renewed_value(name)}});
    });
    // The lock id of a renewal is not written, so the index does not tell whether another key has
    // it.
    const std::string_view fresh = lock_ids == LockIds::fresh ? "true" : "false";
    // lab: take-if-free
    return sql_text(
        "insert into locks (type, id, lockid, {requested}, touched_at, fence, granted_at, "
        "expiration_time) {source} on duplicate key update "
        "mode = if((@now := {now}) is null or locks.type <> value(type) or locks.id <> value(id) "
        "or locks.lockid = value(lockid), locks.mode, "
        "if(locks.ended in ({endings}) and locks.mode in ({modes}), {granted}, "
        "if({fresh} and locks.ended = {not_ended} and locks.mode = {exclusive} and "
        "locks.owner <> '' and locks.owner = value(owner) and "
        "locks.token_id = value(token_id) and "
        "locks.expiration_time > @now and locks.expiration_time < {unbounded}, {renewed}, "
        "locks.mode))){assignments}, granted_at = if(locks.mode = {granted}, @now, "
        "locks.granted_at), mode = if(locks.mode in ({granted}, {renewed}), {exclusive}, "
        "locks.mode) returning {answer}@now",
        {{"requested", names_of(requested_columns)},
         {"source", source},
         {"fresh", fresh},
         {"now", time_after("locks.touched_at", "value(touched_at)")},
         {"granted", granted},
         {"renewed", renewed},
         {"unbounded", std::to_string(unbounded_us)},
         {"assignments", assignments},
         {"answer", answer_columns}});
}

// Parameters: type, id, lockid, floor, by, until, hold.
const std::string prolong_statement = sql_text(
    "insert into locks (type, id, {columns}) select s.type, s.id, {values} from locks s force "
    "index "
    "(primary) where s.type = ? and s.id = ? and s.lockid = ? and s.ended = {not_ended} and s.mode "
    "= "
    "{exclusive} and s.expiration_time > (@now := {clock}) and {current_schema} on duplicate key "
    "update "
    "mode = if((@now := {now}) < locks.expiration_time and locks.lockid = value(lockid) and "
    "locks.ended = {not_ended} and locks.mode = {exclusive} and locks.expiration_time < "
    "{unbounded}, "
    "{renewed}, locks.mode), "
    "touched_at = if(locks.mode = {renewed}, @now, locks.touched_at), "
    "expiration_time = if(locks.mode = {renewed}, greatest(locks.expiration_time, "
    "least(locks.expiration_time + ?, locks.touched_at + ?, locks.granted_at + ?)), "
    "locks.expiration_time), "
    "mode = if(locks.mode = {renewed}, {exclusive}, locks.mode) returning {answer}@now",
    {{"columns", names_of(lock_columns)},
     {"values", names_of(lock_columns, "s.")},
     {"clock", clock_us},
     {"current_schema", current_schema},
     {"now", time_after("locks.touched_at", "?")},
     {"unbounded", std::to_string(unbounded_us)},
     {"renewed", renewed},
     {"answer", answer_columns}});

// Parameters: by, type, id, lockid, floor, type, id, by.
// lab: end
const std::string end_statement = sql_text(
    "begin not atomic start transaction; "
    "update locks force index (primary) set expiration_time = @now, touched_at = @now, "
    "ended = {released}, ended_at = @now, ended_by = ? where type = ? and id = ? and lockid = ? "
    "and "
    "ended = {not_ended} and mode = {exclusive} and {remember} and "
    "expiration_time > (@now := {now}) and {current_schema}; "
    "if row_count() = 1 then {for_history}insert into lock_history (type, id, {columns}) values "
    "(?, ?, {values}) returning type, id, {lease_columns}, mode, {not_ended}, ended_at, ended_at; "
    "end if; commit; end",
    {{"remember",
      [] {
          std::string conditions;
          for_each_column(lease_columns, [&](const auto& column) {
              const std::string name{column.name};
              conditions +=
                  (conditions.empty() ? "(@" : " and (@") + name + " := " + name + ") is not null";
          });
          return conditions;
      }()},
     {"now", time_after("touched_at", "?")},
     {"current_schema", current_schema},
     {"for_history", for_history},
     {"columns", names_of(history_columns)},
     {"values", listed(history_columns,
                       [](const std::string& name) -> std::string {
                           if (name == "mode") return std::string{sql_number<Mode::exclusive>};
                           if (name == "ended") return std::string{sql_number<Gone::released>};
                           if (name == "ended_at") return "@now";
                           if (name == "ended_by") return "?";
                           if (name == "ended_why") return "''";
                           return "@" + name;
                       })},
     {"lease_columns", names_of(lease_columns)}});

// Parameters: floor, type, id.
const std::string check_statement =
    "select " + answer_columns + time_after("touched_at", "?") +
    " from locks force index (primary) where type = ? and id = ? and " + current_schema;

Time decided_at(const Statement& row) {
    return time_from(row.integer(now_column));
}
Time touched_at(const Statement& row) {
    return time_from(row.integer(touched_column));
}

// The live exclusive lease in the row, if the row is that of the key.
std::optional<Grant> grant_alive(const Statement& row, const LockKey& key) {
    const Time now = decided_at(row);
    if (row.text(0) != key.type() || row.text(1) != key.id() ||
        mode_from(row.integer(mode_at)) != Mode::exclusive ||
        gone_from(row.integer(ended_column)) != Gone::unknown) {
        return std::nullopt;
    }
    Grant lease;
    read_columns(lease_columns, row, 2U, lease);
    if (lease.expires_at <= now) return std::nullopt;
    return lease;
}

// The same, if it is the lease that was asked about.
std::optional<Lease> alive(const Statement& row, const LockKey& key, LockId lock_id) {
    const auto lease = grant_alive(row, key);
    if (!lease || lease->lock_id != lock_id) return std::nullopt;
    return to_lease(key, *lease, decided_at(row));
}

std::int64_t bounded(Duration duration) {
    return std::min<std::int64_t>(duration.count(), unbounded_us);
}

}  // namespace

Shortcuts::Shortcuts(::st_mysql* connection)
    : take_new_{connection, take_statement(LockIds::fresh)},
      take_{connection, take_statement(LockIds::perhaps_known)},
      prolong_{connection, prolong_statement},
      end_{connection, end_statement},
      check_{connection, check_statement} {}

std::optional<Lease> Shortcuts::ask(Link& link, const TryLock& request, Time floor) {
    const LockKey& key = request.key;
    const std::string lock_id = request.lock_id.to_string();
    const Duration hold = request.max_hold.value_or(until_released);
    std::vector<Value> values{key.type(), key.id(), std::string_view{lock_id}};
    for_each_column(requested_columns, [&](const auto& column) {
        values.emplace_back(std::string_view{std::invoke(column.field, request)});
    });
    values.emplace_back(micros(floor));
    values.emplace_back(bounded(std::min(request.ttl, hold)));
    const bool fresh = request.fresh_lock_id;
    if (!fresh) values.insert(values.end(), 2, std::string_view{lock_id});
    values.emplace_back(bounded(hold));
    Statement& statement = fresh ? take_new_ : take_;
    if (!link.commit(statement, values)) return std::nullopt;
    const auto lease = grant_alive(statement, key);
    if (!lease) return std::nullopt;
    // If the lease is not new, the statement has renewed it on these conditions.
    const bool renewed = fresh && !request.owner.empty() && lease->owner == request.owner &&
                         lease->token_id == request.token_id && lease->expires_at != never;
    if (lease->lock_id != request.lock_id && !renewed) return std::nullopt;
    return to_lease(key, *lease, decided_at(statement));
}

std::optional<Lease> Shortcuts::ask(Link& link, const Check& request, Time floor) {
    const LockKey& key = *request.key;
    const bool found = link.run(check_, std::array<Value, 3>{micros(floor), key.type(), key.id()});
    return found ? alive(check_, key, request.lock_id) : std::nullopt;
}

std::optional<Lease> Shortcuts::ask(Link& link, const Extend& request, Time floor) {
    return prolong(link, *request.key, request.lock_id, request.by, request.max_ttl,
                   request.max_hold, floor);
}

std::optional<Lease> Shortcuts::ask(Link& link, const Renew& request, Time floor) {
    return prolong(link, *request.key, request.lock_id, until_released, request.ttl,
                   request.max_hold, floor);
}

std::optional<Lease> Shortcuts::prolong(Link& link, const LockKey& key, LockId lock_id, Duration by,
                                        Duration until, const std::optional<Duration>& max_hold,
                                        Time floor) {
    const std::string id_text = lock_id.to_string();
    const bool found =
        link.commit(prolong_, std::array<Value, 7>{key.type(), key.id(), std::string_view{id_text},
                                                   micros(floor), bounded(by), bounded(until),
                                                   bounded(max_hold.value_or(until_released))});
    // A row that was touched at another time than that of this decision was not changed by it.
    if (!found || touched_at(prolong_) != decided_at(prolong_)) return std::nullopt;
    return alive(prolong_, key, lock_id);
}

std::optional<Lease> Shortcuts::ask(Link& link, const Release& request, Time floor) {
    const LockKey& key = *request.key;
    const std::string lock_id = request.lock_id.to_string();
    const std::string_view id_text{lock_id};
    const std::string_view by{request.by};
    const bool found =
        link.commit(end_, std::array<Value, 8>{by, key.type(), key.id(), id_text, micros(floor),
                                               key.type(), key.id(), by});
    return found ? alive(end_, key, request.lock_id) : std::nullopt;
}

}  // namespace leasehold::mariadb
