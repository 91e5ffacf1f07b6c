#include "stores/mariadb/shortcuts.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/columns.hpp"
#include "stores/mariadb/rows.hpp"

// How the statements decide. MariaDB makes the assignments of ON DUPLICATE KEY UPDATE one after the
// other on the locked row, each seeing those before it. So the first one decides, by a clock read
// there and then, and leaves its decision in `mode`: 2 is "go ahead", and the last assignment takes
// it away.
//
// Prolonging is written as an insert of the row that is there, because UPDATE returns no rows.
// Every value is that of the row itself.
namespace leasehold::mariadb {
namespace {

// Later than every time that is used, and exact in a double, which MariaDB may calculate with.
constexpr std::int64_t unbounded_us = std::int64_t{1} << 52U;

const std::string clock_us = "cast(unix_timestamp(sysdate(6)) * 1000000 as signed)";

// Every answer has these columns: the lease as it is now or was until now, and the time of
// decision.
enum Column : unsigned {
    type,
    id,
    lockid,
    owner,
    mode,
    fence,
    granted_at,
    expiration,
    note,
    ended,
    touched_at,
    decided_at
};
const std::string lease_columns =
    "type, id, lockid, owner, mode, fence, granted_at, expiration_time, note, ended, touched_at, ";

std::string assign_if_going_ahead(const std::string& column, const std::string& value) {
    return column + " = if(locks.mode = 2, " + value + ", locks." + column + "), ";
}
const std::string clear_decision = "mode = if(locks.mode = 2, 0, locks.mode)";

// The time, never before the row's latest and the floor.
std::string time_after(const std::string& touched, const std::string& floor) {
    return "greatest(" + clock_us + ", " + touched + ", " + floor + ")";
}

const std::string now_or_floor = "greatest(" + clock_us + ", ?)";

// Takes a key that is free or has no row. A lock id that is in the history is dead, and one of a
// share is in use: they take nothing. One that was drawn just now is not looked up there.
// Parameters: type, id, lockid, owner, note, floor, ttl, then lockid twice where it is looked up,
// and floor.
enum class LockIds : std::uint8_t { fresh, perhaps_known };

std::string take_statement(LockIds lock_ids) {
    const std::string row = "?, ?, ?, ?, ?, (@now := " + now_or_floor + "), @now, @now, @now + ?";
    return "insert into locks (type, id, lockid, owner, note, touched_at, fence, granted_at, "
           "expiration_time) " +
           (lock_ids == LockIds::fresh
                ? "values (" + row + ")"
                : "select " + row +
                      " from dual where (select 1 from lock_history force index "
                      "(lock_history_lockid) where lockid = ? limit 1) is null and (select 1 from "
                      "lock_shares force index (lock_shares_lockid) where lockid = ? limit 1) is "
                      "null") +
           // lab: take-if-free
           " on duplicate key update mode = if(locks.type = value(type) and locks.id = value(id) "
           "and locks.ended <> 0 and locks.lockid <> value(lockid), 2, locks.mode), " +
           assign_if_going_ahead("touched_at",
                                 time_after("locks.touched_at", "value(touched_at)")) +
           assign_if_going_ahead("lockid", "value(lockid)") +
           assign_if_going_ahead("owner", "value(owner)") +
           assign_if_going_ahead("note", "value(note)") +
           // lab: taken-fence
           assign_if_going_ahead("fence", "greatest(locks.fence + 1, locks.touched_at)") +
           assign_if_going_ahead("granted_at", "locks.touched_at") +
           assign_if_going_ahead("expiration_time",
                                 "locks.touched_at + value(expiration_time) - value(granted_at)") +
           assign_if_going_ahead("ended_at", "0") + assign_if_going_ahead("ended_by", "''") +
           assign_if_going_ahead("ended_why", "''") + assign_if_going_ahead("ended", "0") +
           clear_decision + " returning " + lease_columns + time_after("touched_at", "?");
}

// Parameters: type, id, lockid, floor, by, until, hold.
const std::string prolong_statement =
    "insert into locks (type, id, lockid, expiration_time, owner, fence, granted_at, touched_at, "
    "note) select s.type, s.id, s.lockid, s.expiration_time, s.owner, s.fence, s.granted_at, "
    "s.touched_at, s.note from locks s force index (primary) where s.type = ? and s.id = ? and "
    "s.lockid = ? and s.ended = 0 and s.mode = 0 and s.expiration_time > (@now := " +
    clock_us +
    ") on duplicate key update mode = if((@now := " + time_after("locks.touched_at", "?") +
    ") < locks.expiration_time and locks.lockid = value(lockid) and locks.ended = 0 and "
    "locks.mode = 0 and locks.expiration_time < " +
    std::to_string(unbounded_us) + ", 2, locks.mode), " +
    assign_if_going_ahead("touched_at", "@now") +
    assign_if_going_ahead("expiration_time",
                          "greatest(locks.expiration_time, least(locks.expiration_time + ?, "
                          "locks.touched_at + ?, locks.granted_at + ?))") +
    clear_decision + " returning " + lease_columns + "@now";

// Parameters: type, id, lockid, floor, type, id, lockid.
// lab: end
const std::string end_statement =
    "begin not atomic start transaction; "
    "update locks force index (primary) set expiration_time = @now, touched_at = @now, ended = 2, "
    "ended_at = @now where type = ? and id = ? and lockid = ? and ended = 0 and mode = 0 and "
    "(@owner := owner) is not null and (@fence := fence) is not null and "
    "(@granted_at := granted_at) is not null and (@note := note) is not null and "
    "(@expiration_time := expiration_time) > (@now := " +
    time_after("touched_at", "?") + "); if row_count() = 1 then " + std::string{for_history} +
    "insert into lock_history (type, id, lockid, owner, mode, fence, granted_at, expiration_time, "
    "ended, ended_at, ended_by, ended_why, note) values (?, ?, ?, @owner, 0, @fence, @granted_at, "
    "@expiration_time, 2, @now, '', '', @note) returning type, id, lockid, owner, mode, fence, "
    "granted_at, expiration_time, note, 0, ended_at, ended_at; end if; commit; end";

// Parameters: floor, type, id.
const std::string check_statement = "select " + lease_columns + time_after("touched_at", "?") +
                                    " from locks force index (primary) where type = ? and id = ?";

// When the server decided on the row it answered with.
Time when_read(const Statement& row) {
    return time_from(row.integer(decided_at));
}
Time when_touched(const Statement& row) {
    return time_from(row.integer(touched_at));
}

// What the row says, where it is the lease that was asked about and alive.
std::optional<Lease> alive(const Statement& row, const LockKey& key, LockId lock_id, Time now) {
    if (row.text(type) != key.type() || row.text(id) != key.id() || row.integer(mode) != 0 ||
        lock_id_from(row.text(lockid)) != lock_id || row.integer(ended) != 0 ||
        time_from(row.integer(expiration)) <= now) {
        return std::nullopt;
    }
    return Lease{.key = key,
                 .lock_id = lock_id,
                 .owner = std::string{row.text(owner)},
                 .mode = Mode::exclusive,
                 .fence = row.integer(fence),
                 .granted_at = time_from(row.integer(granted_at)),
                 .expires_at = time_from(row.integer(expiration)),
                 .note = std::string{row.text(note)},
                 .store_now = now};
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
    const std::int64_t ttl =
        bounded(request.max_hold ? std::min(request.ttl, *request.max_hold) : request.ttl);
    const std::string_view id_text{lock_id}, owner_text{request.owner}, note_text{request.note};
    // A lock id that was drawn for this was granted by this; another may have been before.
    if (request.fresh_lock_id) {
        const bool found = link.commit(
            take_new_, std::array<Value, 8>{key.type(), key.id(), id_text, owner_text, note_text,
                                            micros(floor), ttl, micros(floor)});
        return found ? alive(take_new_, key, request.lock_id, when_touched(take_new_))
                     : std::nullopt;
    }
    const bool found = link.commit(
        take_, std::array<Value, 10>{key.type(), key.id(), id_text, owner_text, note_text,
                                     micros(floor), ttl, id_text, id_text, micros(floor)});
    return found ? alive(take_, key, request.lock_id, when_read(take_)) : std::nullopt;
}

std::optional<Lease> Shortcuts::ask(Link& link, const Check& request, Time floor) {
    const LockKey& key = *request.key;
    const bool found = link.run(check_, std::array<Value, 3>{micros(floor), key.type(), key.id()});
    return found ? alive(check_, key, request.lock_id, when_read(check_)) : std::nullopt;
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
    // Touched at another time than that of this decision: it was left as it was.
    if (!found || when_touched(prolong_) != when_read(prolong_)) return std::nullopt;
    return alive(prolong_, key, lock_id, when_read(prolong_));
}

std::optional<Lease> Shortcuts::ask(Link& link, const Release& request, Time floor) {
    const LockKey& key = *request.key;
    const std::string lock_id = request.lock_id.to_string();
    const std::string_view id_text{lock_id};
    const bool found =
        link.commit(end_, std::array<Value, 7>{key.type(), key.id(), id_text, micros(floor),
                                               key.type(), key.id(), id_text});
    return found ? alive(end_, key, request.lock_id, when_read(end_)) : std::nullopt;
}

}  // namespace leasehold::mariadb
