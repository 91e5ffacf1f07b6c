#include "stores/mariadb/shortcuts.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <string_view>
#include <vector>

#include "core/columns.hpp"
#include "core/fresh_lock_id.hpp"
#include "core/sql_text.hpp"
#include "stores/mariadb/rows.hpp"

// How the statements decide. The server evaluates the assignments of ON DUPLICATE KEY UPDATE one
// after the other on the locked row, and each one sees the values that the earlier ones assigned.
//
// 1. The first assignment checks the row at the time @now, and leaves its decision in `mode`: a
//    mark above every Mode if the row is as expected.
// 2. The next assignments change their columns if `mode` has such a mark.
// 3. The last assignment replaces the mark with the mode.
//
// MariaDB does all of it in one prepared statement that returns the row, and sets @now in the first
// assignment. Prolonging is written as an insert of the row that is there already, because UPDATE
// cannot return rows. Each inserted value is the row's own.
//
// MySQL cannot return rows that it writes. One script, sent in one round trip, does the same in a
// transaction:
//
// 1. Lock the key's row if it is there, or fail at once if another transaction has locked it; then
//    read the clock into @now.
// 2. Write, if the row is as expected at that time.
// 3. Read the row, which nobody else can change, if something was written; and commit.
namespace leasehold::mariadb {
namespace {

// Later than every time that is used, and exact in a double, which MariaDB may calculate with.
constexpr std::int64_t unbounded_us = std::int64_t{1} << 52U;

// The marks in `mode`.
constexpr std::string_view granted = "8";  // the key was free: a new lease
constexpr std::string_view renewed = "9";  // the lease was the caller's own: a later expiry
static_assert(enum_size<Mode> <= 8, "a mark must differ from every mode");

// Every answer has these columns: type, id, the lease as it is now or was until now, its mode, its
// end, when it was touched, and the time of the decision.
const std::string answer_columns =
    "type, id, " + lock_names(lease_columns, own_zone) + ", mode, ended, touched_at, ";
constexpr unsigned mode_at = 2 + count_of(lease_columns);
constexpr unsigned ended_column = mode_at + 1;
constexpr unsigned touched_column = mode_at + 2;
constexpr unsigned now_column = mode_at + 3;
static_assert(now_column < Statement::most_columns);

// The time: the clock, but never before the row was touched last, nor before the floor.
std::string time_after(const std::string& touched, const std::string& floor) {
    return "greatest(" + std::string{clock_us} + ", " + touched + ", " + floor + ")";
}

// Whether the tables have the version that this process knows, which is set on every connection. A
// statement that asks for it finds nothing in tables of another version.
const std::string current_schema =
    "(select value from leasehold where name = 'schema') = @leasehold_schema";

// The first statements of a script of MySQL, whose values 1 and 2 are type and id. Without a row,
// @now is the clock or null.
enum class WithoutRow : std::uint8_t { the_clock, null };
std::string lock_and_read_clock(const std::string& floor, WithoutRow without_row) {
    const std::string touched =
        without_row == WithoutRow::the_clock ? "ifnull(max(touched_at), 0)" : "max(touched_at)";
    return "start transaction;select " + time_after(touched, floor) +
           " from locks force index (primary) where type = ?1 and id = ?2 for update nowait into "
           "@now;";
}

// How the statement of a try refers to what the try brings.
class Brought {
public:
    explicit Brought(Dialect::Product product) : product_{product} {}

    // The value of a column of the new row, inside ON DUPLICATE KEY UPDATE.
    [[nodiscard]] std::string value(std::string_view column) const {
        if (product_ == Dialect::Product::mariadb) return sql_text("value({c})", {{"c", column}});
        std::size_t number = 0;
        std::size_t next = first_requested;
        if (column == "type") number = 1;
        if (column == "id") number = 2;
        if (column == "lockid") number = 3;
        for_each_column(requested_columns, [&](const auto& each) {
            if (each.name == column) number = next;
            ++next;
        });
        return "?" + std::to_string(number);
    }
    [[nodiscard]] std::string ttl() const {
        if (product_ == Dialect::Product::mariadb) {
            return micros_of("value(expiration_time)", own_zone) + " - value(granted_at)";
        }
        return "?" + std::to_string(ttl_number);
    }
    // The last parameter.
    [[nodiscard]] std::string hold(bool looked_up) const {
        if (product_ == Dialect::Product::mariadb) return "?";
        return "?" + std::to_string(ttl_number + (looked_up ? 3 : 1));
    }

    static constexpr std::size_t first_requested = 4;
    static constexpr std::size_t floor_number = first_requested + count_of(requested_columns);
    static constexpr std::size_t ttl_number = floor_number + 1;

private:
    Dialect::Product product_;
};

// The value of a column of `locks` after a try of a key that was free.
std::string granted_value(const Brought& brought, const std::string& column) {
    if (column == "expiration_time") return date_of("@now + " + brought.ttl(), own_zone);
    // lab: taken-fence
    if (column == "fence") return "greatest(locks.fence + 1, @now)";
    if (column == "granted_at" || column == "touched_at") return "@now";
    if (column == "ended") return std::string{sql_number<Gone::unknown>};
    if (column == "ended_at") return "0";
    if (column == "ended_by" || column == "ended_why") return "''";
    return brought.value(column);
}

// The value after a try of one's own live lease.
std::string renewed_value(const Brought& brought, const std::string& column,
                          const std::string& hold) {
    if (column == "expiration_time") {
        return "greatest(locks.expiration_time, " +
               date_of("least(@now + " + brought.ttl() + ", locks.granted_at + " + hold + ")",
                       own_zone) +
               ")";
    }
    if (column == "touched_at") return "@now";
    const std::string old = "locks." + column;
    bool requested = false;
    for_each_column(requested_columns, [&](const auto& each) { requested |= each.name == column; });
    const std::string value = brought.value(column);
    return requested ? "if(" + value + " = '', " + old + ", " + value + ")" : old;
}

enum class LockIds : std::uint8_t { fresh, perhaps_known };

// Takes a key that is free or has no row, or renews the caller's own live exclusive lease. A lock
// id that is in the history is dead, and a lock id of a share is in use: with these nothing is
// taken. A fresh lock id need not be looked up, and only a try with one renews. Parameters: type,
// id, lockid, requested_columns, floor, ttl, then lockid twice if it is looked up, and the longest
// time to hold the lease.
std::string take_statement(const Dialect& dialect, LockIds lock_ids) {
    const bool mariadb = dialect.product == Dialect::Product::mariadb;
    const bool looked_up = lock_ids == LockIds::perhaps_known;
    const Brought brought{dialect.product};
    const auto parameter = [&](const std::string& column) {
        return mariadb ? "?" : brought.value(column);
    };
    const std::string floor = "?" + std::to_string(Brought::floor_number);
    const std::string ttl = mariadb ? "?" : brought.ttl();
    const std::string lock_id = parameter("lockid");
    // MariaDB reads the clock while it makes the row, and again when it has locked an older one.
    const std::string new_now =
        mariadb ? "(@now := greatest(" + std::string{clock_us} + ", ?))" : "@now";
    const std::string row = parameter("type") + ", " + parameter("id") + ", " + lock_id + ", " +
                            listed(requested_columns, parameter) + ", " + new_now +
                            ", @now, @now, " + date_of("@now + " + ttl, own_zone);
    std::string source = "select " + row + " from dual where " + current_schema;
    if (looked_up) {
        source +=
            " and (select 1 from lock_history force index (lock_history_lockid) where lockid = " +
            lock_id +
            " limit 1) is null and (select 1 from lock_shares force index (lock_shares_lockid) "
            "where lockid = " +
            lock_id + " limit 1) is null";
    }
    const std::string hold = brought.hold(looked_up);
    std::string assignments;
    for_each_column(lock_columns, [&](const auto& column) {
        const std::string name{column.name};
        if (name == "mode" || name == "granted_at") return;
        assignments += sql_text(
            ", {name} = case locks.mode when {granted} then {granted_value} "
            "when {renewed} then {renewed_value} else locks.{name} end",
            {{"name", name},
             {"granted", granted},
             {"granted_value", granted_value(brought, name)},
             {"renewed", renewed},
             {"renewed_value", renewed_value(brought, name, hold)}});
    });
    // The lock id of a renewal is not written, so the index does not tell whether another key has
    // it.
    const std::string_view fresh = looked_up ? "false" : "true";
    // On MySQL somebody may have inserted the row after @now was read.
    const std::string unusable =
        mariadb ? "(@now := " + time_after("locks.touched_at", "value(touched_at)") + ") is null"
                : "locks.touched_at > @now";
    // lab: take-if-free
    const std::string take = sql_text(
        "insert into locks (type, id, lockid, {requested}, touched_at, fence, granted_at, "
        "expiration_time) {source} on duplicate key update "
        "mode = if({unusable} or locks.type <> {type} or locks.id <> {id} "
        "or locks.lockid = {lock_id}, locks.mode, "
        "if(locks.ended in ({endings}) and locks.mode in ({modes}), {granted}, "
        "if({fresh} and locks.ended = {not_ended} and locks.mode = {exclusive} and "
        "locks.owner <> '' and locks.owner = {owner} and "
        "locks.token_id = {token_id} and "
        "{expires} > @now and {expires} < {unbounded}, {renewed}, "
        "locks.mode))){assignments}, granted_at = if(locks.mode = {granted}, @now, "
        "locks.granted_at), mode = if(locks.mode in ({granted}, {renewed}), {exclusive}, "
        "locks.mode)",
        {{"expires", micros_of("locks.expiration_time", own_zone)},
         {"requested", names_of(requested_columns)},
         {"source", source},
         {"fresh", fresh},
         {"unusable", unusable},
         {"type", brought.value("type")},
         {"id", brought.value("id")},
         {"lock_id", brought.value("lockid")},
         {"owner", brought.value("owner")},
         {"token_id", brought.value("token_id")},
         {"granted", granted},
         {"renewed", renewed},
         {"unbounded", std::to_string(unbounded_us)},
         {"assignments", assignments}});
    if (mariadb) return take + " returning " + answer_columns + "@now";
    return lock_and_read_clock(floor, WithoutRow::the_clock) + take + ";select " + answer_columns +
           "@now from locks force index (primary) where type = ?1 and id = ?2 and "
           "row_count() > 0;commit";
}

// Parameters: type, id, lockid, floor, by, until, hold.
std::string prolong_statement(const Dialect& dialect) {
    if (dialect.product == Dialect::Product::mysql) {
        const std::string expires = micros_of("expiration_time", own_zone);
        return lock_and_read_clock("?4", WithoutRow::null) +
               sql_text(
                   "update locks force index (primary) set touched_at = @now, "
                   "expiration_time = greatest(expiration_time, {later}) "
                   "where type = ?1 and id = ?2 and lockid = ?3 and ended = {not_ended} and "
                   "mode = {exclusive} and {expires} > @now and {expires} < {unbounded} and "
                   "{current_schema};"
                   "select {answer}@now from locks force index (primary) "
                   "where type = ?1 and id = ?2 and row_count() = 1;commit",
                   {{"current_schema", current_schema},
                    {"expires", expires},
                    {"later",
                     date_of("least(" + expires + " + ?5, @now + ?6, granted_at + ?7)", own_zone)},
                    {"unbounded", std::to_string(unbounded_us)},
                    {"answer", answer_columns}});
    }
    const std::string expires = micros_of("locks.expiration_time", own_zone);
    return sql_text(
        "insert into locks (type, id, {columns}) select s.type, s.id, {values} "
        "from locks s force index (primary) where s.type = ? and s.id = ? and s.lockid = ? and "
        "s.ended = {not_ended} and s.mode = {exclusive} and "
        "{source_expires} > (@now := {clock}) and {current_schema} on duplicate key update "
        "mode = if((@now := {now}) < {expires} and locks.lockid = value(lockid) and "
        "locks.ended = {not_ended} and locks.mode = {exclusive} and "
        "{expires} < {unbounded}, {renewed}, locks.mode), "
        "touched_at = if(locks.mode = {renewed}, @now, locks.touched_at), "
        "expiration_time = if(locks.mode = {renewed}, greatest(locks.expiration_time, {later}), "
        "locks.expiration_time), "
        "mode = if(locks.mode = {renewed}, {exclusive}, locks.mode) returning {answer}@now",
        {{"columns", names_of(lock_columns)},
         {"values", names_of(lock_columns, "s.")},
         {"source_expires", micros_of("s.expiration_time", own_zone)},
         {"expires", expires},
         {"later", date_of("least(" + expires + " + ?, locks.touched_at + ?, locks.granted_at + ?)",
                           own_zone)},
         {"clock", clock_us},
         {"current_schema", current_schema},
         {"now", time_after("locks.touched_at", "?")},
         {"unbounded", std::to_string(unbounded_us)},
         {"renewed", renewed},
         {"answer", answer_columns}});
}

// The values of the history's row about a lease that is being released. `lease` gives the
// values of the lease itself.
template <class Of>
std::string released_values(const std::string& by, Of lease) {
    return listed(history_columns, [&](const std::string& name) -> std::string {
        if (name == "mode") return std::string{sql_number<Mode::exclusive>};
        if (name == "ended") return std::string{sql_number<Gone::released>};
        if (name == "ended_at") return "@now";
        if (name == "ended_by") return by;
        if (name == "ended_why") return "''";
        return lease(name);
    });
}

// Parameters: by, type, id, lockid, floor, type, id, by. On MySQL: type, id, lockid, floor, by.
std::string end_statement(const Dialect& dialect) {
    if (dialect.product == Dialect::Product::mysql) {
        // lab: mysql-end
        const std::string mine = sql_text(
            "type = ?1 and id = ?2 and lockid = ?3 and ended = {not_ended} and mode = {exclusive} "
            "and {expires} > @now and {current_schema}",
            {{"expires", micros_of("expiration_time", own_zone)},
             {"current_schema", current_schema}});
        return lock_and_read_clock("?4", WithoutRow::null) +
               sql_text(
                   "insert into lock_history (type, id, {columns}) select type, id, {values} "
                   "from locks force index (primary) where {mine};"
                   "select type, id, {lease_columns}, mode, {not_ended}, @now, @now from locks "
                   "force index (primary) where {mine};"
                   "update locks force index (primary) set expiration_time = {at_once}, "
                   "touched_at = @now, ended = {released}, ended_at = @now, ended_by = ?5 "
                   "where {mine};commit",
                   {{"columns", names_of(history_columns)},
                    {"values", released_values("?5",
                                               [](const std::string& name) {
                                                   return name == "expiration_time"
                                                              ? micros_of(name, own_zone)
                                                              : name;
                                               })},
                    {"at_once", date_of("@now", own_zone)},
                    {"lease_columns", lock_names(lease_columns, own_zone)},
                    {"mine", mine}});
    }
    std::string remember;
    for_each_column(lease_columns, [&](const auto& column) {
        const std::string name{column.name};
        const std::string value = name == "expiration_time" ? micros_of(name, own_zone) : name;
        remember += (remember.empty() ? "(@" : " and (@") + name + " := " + value + ") is not null";
    });
    // lab: end
    return sql_text(
        "begin not atomic start transaction; "
        "update locks force index (primary) set expiration_time = {at_once}, touched_at = @now, "
        "ended = {released}, ended_at = @now, ended_by = ? "
        "where type = ? and id = ? and lockid = ? and ended = {not_ended} and "
        "mode = {exclusive} and {remember} and "
        "{expires} > (@now := {now}) and {current_schema}; "
        "if row_count() = 1 then {for_history}insert into lock_history (type, id, {columns}) "
        "values (?, ?, {values}) "
        "returning type, id, {lease_columns}, mode, {not_ended}, ended_at, ended_at; "
        "end if; commit; end",
        {{"at_once", date_of("@now", own_zone)},
         {"expires", micros_of("expiration_time", own_zone)},
         {"remember", remember},
         {"now", time_after("touched_at", "?")},
         {"current_schema", current_schema},
         {"for_history", dialect.for_history},
         {"columns", names_of(history_columns)},
         {"values", released_values("?", [](const std::string& name) { return "@" + name; })},
         {"lease_columns", names_of(lease_columns)}});
}

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

// The live exclusive lease in the row, if it is the key's row.
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

Statement::Kind writing(const Dialect& dialect) {
    return dialect.product == Dialect::Product::mariadb ? Statement::Kind::prepared
                                                        : Statement::Kind::script;
}

std::int64_t bounded(Duration duration) {
    return std::min<std::int64_t>(duration.count(), unbounded_us);
}

}  // namespace

Shortcuts::Shortcuts(const Dialect& dialect, ::st_mysql* connection)
    : dialect_{dialect},
      take_new_{dialect, connection, take_statement(dialect, LockIds::fresh), writing(dialect)},
      take_{dialect, connection, take_statement(dialect, LockIds::perhaps_known), writing(dialect)},
      prolong_{dialect, connection, prolong_statement(dialect), writing(dialect)},
      end_{dialect, connection, end_statement(dialect), writing(dialect)},
      check_{dialect, connection, check_statement} {}

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
    const bool fresh = FreshLockId::is_fresh(request.lock_id);
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
        dialect_.product == Dialect::Product::mariadb
            ? link.commit(end_, std::array<Value, 8>{by, key.type(), key.id(), id_text,
                                                     micros(floor), key.type(), key.id(), by})
            : link.commit(end_,
                          std::array<Value, 5>{key.type(), key.id(), id_text, micros(floor), by});
    return found ? alive(end_, key, request.lock_id) : std::nullopt;
}

}  // namespace leasehold::mariadb
