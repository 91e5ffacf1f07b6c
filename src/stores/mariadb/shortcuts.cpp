#include "stores/mariadb/shortcuts.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "core/columns.hpp"
#include "stores/mariadb/rows.hpp"

// How the statements decide. MariaDB makes the assignments of ON DUPLICATE KEY UPDATE one after the
// other on the locked row, each seeing those before it. So the first one decides, by a clock read
// there and then, and leaves its decision in `mode`: 2 is "go ahead", and the last assignment takes
// it away.
//
// Prolonging and ending are written as inserts of rows that are there, because UPDATE returns no
// rows and has no list of values. Every value is that of the row itself.
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
    decided_at,
    batch,
    until_time
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

// Takes keys that are free or have no row, and leaves a stamp in them.
std::string take_statement(const std::string& rows) {
    return "insert into locks (type, id, lockid, owner, note, batch, touched_at, fence, "
           "granted_at, expiration_time) " +
           rows +
           " on duplicate key update mode = if(locks.type = value(type) and locks.id = value(id) "
           "and locks.ended <> 0 and locks.lockid <> value(lockid), 2, locks.mode), " +
           assign_if_going_ahead("batch", "value(batch)") +
           assign_if_going_ahead("touched_at",
                                 time_after("locks.touched_at", "value(touched_at)")) +
           assign_if_going_ahead("lockid", "value(lockid)") +
           assign_if_going_ahead("owner", "value(owner)") +
           assign_if_going_ahead("note", "value(note)") +
           assign_if_going_ahead("fence", "greatest(locks.fence + 1, locks.touched_at)") +
           assign_if_going_ahead("granted_at", "locks.touched_at") +
           assign_if_going_ahead("expiration_time",
                                 "locks.touched_at + value(expiration_time) - value(granted_at)") +
           assign_if_going_ahead("ended_at", "0") + assign_if_going_ahead("ended_by", "''") +
           assign_if_going_ahead("ended_why", "''") + assign_if_going_ahead("ended", "0") +
           clear_decision;
}
std::string take_row(const std::string& names, const std::string& lock_id,
                     const std::string& owner_and_note, const std::string& stamp,
                     const std::string& now, const std::string& ttl) {
    return names + ',' + lock_id + ',' + owner_and_note + ',' + stamp + ',' + now +
           ",@now,@now,@now+" + ttl;
}
std::string read_now(const std::string& floor) {
    return "@now:=greatest(" + clock_us + ',' + floor + ')';
}
// A lock id that is in the history is dead, and takes nothing. One that was drawn just now is not
// looked up there.
std::string where_not_dead(const std::string& lock_id) {
    return " where (select 1 from lock_history force index (lock_history_lockid) where lockid = " +
           lock_id + " limit 1) is null";
}

const std::string take_one = take_row("?,?", "?", "?,?", "0", read_now("?"), "?");

// Where prolongings and endings come from: parameters of one, or a table `q` of many.
class Source {
public:
    static Source one() { return {}; }
    static Source many(const std::string& columns, const std::string& rows) {
        return Source{"with q (" + columns + ") as (values " + rows + ") "};
    }

    [[nodiscard]] std::string column(const std::string& name) const {
        return with_.empty() ? "?" : "q." + name;
    }
    // Their rows, where they are alive, to be inserted again. Columns: type, id, lockid.
    [[nodiscard]] std::string insert_again() const {
        return "insert into locks (type, id, lockid, expiration_time, owner, fence, granted_at, "
               "touched_at, note) " +
               with_ +
               "select s.type, s.id, s.lockid, s.expiration_time, s.owner, s.fence, s.granted_at, "
               "s.touched_at, s.note from " +
               (with_.empty() ? "" : "q straight_join ") +
               "locks s force index (primary) where s.type = " + column("type") +
               " and s.id = " + column("id") + " and s.lockid = " + column("lockid") +
               " and s.ended = 0 and s.mode = 0 and s.expiration_time > (@now := " + clock_us +
               ") on duplicate key update ";
    }

private:
    Source() = default;
    explicit Source(std::string with) : with_{std::move(with)} {}
    std::string with_;
};

// Goes ahead where the lease is still alive, at @now.
std::string decide_if_alive(const std::string& floor, const std::string& condition = "") {
    return "mode = if((@now := " + time_after("locks.touched_at", floor) +
           ") < locks.expiration_time and locks.lockid = value(lockid) and locks.ended = 0 and "
           "locks.mode = 0" +
           condition + ", 2, locks.mode), ";
}

// Columns: type, id, lockid, floor, by_us, until_us, hold_us.
std::string prolong_statement(const Source& q, const std::string& floor, const std::string& stamp) {
    return q.insert_again() +
           decide_if_alive(floor, " and locks.expiration_time < " + std::to_string(unbounded_us)) +
           assign_if_going_ahead("batch", stamp) + assign_if_going_ahead("touched_at", "@now") +
           assign_if_going_ahead("expiration_time",
                                 "greatest(locks.expiration_time, least(locks.expiration_time + " +
                                     q.column("by_us") + ", locks.touched_at + " +
                                     q.column("until_us") + ", locks.granted_at + " +
                                     q.column("hold_us") + "))") +
           clear_decision;
}

std::string end_statement(const Source& q, const std::string& floor, const std::string& stamp) {
    return q.insert_again() + decide_if_alive(floor) + assign_if_going_ahead("batch", stamp) +
           assign_if_going_ahead("until_time", "locks.expiration_time") +
           assign_if_going_ahead("expiration_time", "@now") +
           assign_if_going_ahead("touched_at", "@now") + assign_if_going_ahead("ended_at", "@now") +
           assign_if_going_ahead("ended", "2") + clear_decision;
}

// Ends one lease and notes its end. Parameters: type, id, lockid, floor, type, id, lockid.
const std::string end_one =
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

std::string returning(const std::string& decided) {
    return " returning " + lease_columns + decided;
}

std::string select_leases(const std::string& more_columns, const std::string& where,
                          const std::string& floor) {
    return "select " + lease_columns + time_after("touched_at", floor) + more_columns +
           " from locks force index (primary) where " + where;
}

template <class Row>
bool is_about(const Row& row, const LockKey& key, LockId lock_id) {
    return row.text(type) == key.type() && row.text(id) == key.id() && row.integer(mode) == 0 &&
           lock_id_from(row.text(lockid)) == lock_id;
}

template <class Row>
Lease lease_at(const Row& row, const LockKey& key, LockId lock_id, Time now) {
    return {.key = key,
            .lock_id = lock_id,
            .owner = std::string{row.text(owner)},
            .mode = Mode::exclusive,
            .fence = row.integer(fence),
            .granted_at = time_from(row.integer(granted_at)),
            .expires_at = time_from(row.integer(expiration)),
            .note = std::string{row.text(note)},
            .store_now = now};
}

// When the server decided on a row. It is what was asked for if it is alive then.
using Decided = Time (*)(const Statement& row);
Time when_read(const Statement& row) {
    return time_from(row.integer(decided_at));
}
Time when_touched(const Statement& row) {
    return time_from(row.integer(touched_at));
}
// Another time than that of this decision: it was left as it was.
Time when_touched_by_this(const Statement& row) {
    return when_touched(row) == when_read(row) ? when_read(row) : Time::max();
}

std::string names_of(const LockKey& key) {
    std::string sql;
    append_literal(sql, key.type());
    sql += ',';
    append_literal(sql, key.id());
    return sql;
}

std::int64_t bounded(Duration duration) {
    return std::min<std::int64_t>(duration.count(), unbounded_us);
}

}  // namespace

PreparedShortcuts::PreparedShortcuts(::st_mysql* connection)
    : take_new{connection, take_statement("values (" + take_one + ')') +
                               returning(time_after("touched_at", "?"))},
      take{connection, take_statement("select " + take_one + " from dual" + where_not_dead("?")) +
                           returning(time_after("touched_at", "?"))},
      prolong{connection, prolong_statement(Source::one(), "?", "0") + returning("@now")},
      end{connection, end_one},
      check{connection, select_leases("", "type = ? and id = ?", "?")} {}

void Shortcuts::add(std::size_t index, const TryLock& request) {
    asked_.push_back(
        {.kind = request.drawn == Drawn::for_this ? Kind::take : Kind::take_unless_dead,
         .index = index,
         .key = &request.key,
         .lock_id = request.lock_id,
         .wanted = &request,
         .ttl =
             bounded(request.max_hold ? std::min(request.ttl, *request.max_hold) : request.ttl)});
}

void Shortcuts::add(std::size_t index, const Check& request) {
    asked_.push_back(
        {.kind = Kind::check, .index = index, .key = &*request.key, .lock_id = request.lock_id});
}

void Shortcuts::add(std::size_t index, const Extend& request) {
    prolong(index, *request.key, request.lock_id, request.by, request.max_ttl, request.max_hold);
}

void Shortcuts::add(std::size_t index, const Renew& request) {
    prolong(index, *request.key, request.lock_id, until_released, request.ttl, request.max_hold);
}

void Shortcuts::add(std::size_t index, const Release& request) {
    asked_.push_back(
        {.kind = Kind::end, .index = index, .key = &*request.key, .lock_id = request.lock_id});
}

void Shortcuts::prolong(std::size_t index, const LockKey& key, LockId lock_id, Duration by,
                        Duration until, const std::optional<Duration>& max_hold) {
    asked_.push_back({.kind = Kind::prolong,
                      .index = index,
                      .key = &key,
                      .lock_id = lock_id,
                      .by = bounded(by),
                      .until = bounded(until),
                      .hold = bounded(max_hold.value_or(until_released))});
}

bool Shortcuts::only_checks() const {
    return std::ranges::all_of(asked_, [](const Asked& a) { return a.kind == Kind::check; });
}

Time Shortcuts::run(Link& link, PreparedShortcuts& prepared, std::span<Outcome> outcomes) const {
    if (asked_.size() > 1) return run_many(link, outcomes);
    const Asked& asked = asked_.front();
    // The statement for one writes history.
    if (asked.kind == Kind::end && history_ == StoreOptions::KeepHistory::off) {
        return run_many(link, outcomes);
    }
    return run_one(asked, link, prepared, outcomes);
}

Time Shortcuts::run_one(const Asked& asked, Link& link, PreparedShortcuts& prepared,
                        std::span<Outcome> outcomes) const {
    const std::string_view type_text = asked.key->type();
    const std::string_view id_text = asked.key->id();
    const std::string lock_id_text = asked.lock_id.to_string();
    const std::string_view lock_id{lock_id_text};
    const std::int64_t floor = micros(floor_);

    Statement* statement = &prepared.check;
    Decided decided = when_read;
    bool found = false;
    if (asked.wanted != nullptr) {
        const TryLock& wanted = *asked.wanted;
        const std::string_view owner_text = wanted.owner;
        const std::string_view note_text = wanted.note;
        if (asked.kind == Kind::take) {
            statement = &prepared.take_new;
            decided = when_touched;
            found = link.commit(
                *statement, std::array<Value, 8>{type_text, id_text, lock_id, owner_text, note_text,
                                                 floor, asked.ttl, floor});
        } else {
            statement = &prepared.take;
            found = link.commit(
                *statement, std::array<Value, 9>{type_text, id_text, lock_id, owner_text, note_text,
                                                 floor, asked.ttl, lock_id, floor});
        }
    } else if (asked.kind == Kind::prolong) {
        statement = &prepared.prolong;
        decided = when_touched_by_this;
        found = link.commit(*statement, std::array<Value, 7>{type_text, id_text, lock_id, floor,
                                                             asked.by, asked.until, asked.hold});
    } else if (asked.kind == Kind::end) {
        statement = &prepared.end;
        found = link.commit(*statement, std::array<Value, 7>{type_text, id_text, lock_id, floor,
                                                             type_text, id_text, lock_id});
    } else {
        found = link.run(*statement, std::array<Value, 3>{floor, type_text, id_text});
    }
    if (!found) return {};
    const Time now = decided(*statement);
    if (!is_about(*statement, *asked.key, asked.lock_id) || statement->integer(ended) != 0 ||
        time_from(statement->integer(expiration)) <= now) {
        return {};
    }
    outcomes[asked.index] = lease_at(*statement, *asked.key, asked.lock_id, now);
    return now;
}

template <class Row>
std::string Shortcuts::rows_of(Kind kind, Row row) const {
    std::string sql;
    for (const Asked& asked : asked_) {
        if (asked.kind != kind) continue;
        if (!sql.empty()) sql += ',';
        sql += '(' + row(asked, names_of(*asked.key), literal(asked.lock_id.to_string())) + ')';
    }
    return sql;
}

std::string Shortcuts::script() const {
    const std::string floor = std::to_string(micros(floor_));
    const std::string stamp = std::to_string(stamp_);
    std::vector<std::string> statements;
    std::string now = read_now(floor);
    if (const std::string rows = rows_of(
            Kind::take,
            [&](const Asked& asked, const std::string& names, const std::string& lock_id) {
                return take_row(names, lock_id,
                                literal(asked.wanted->owner) + ',' + literal(asked.wanted->note),
                                stamp, std::exchange(now, "@now"), std::to_string(asked.ttl));
            });
        !rows.empty()) {
        statements.push_back(take_statement("values " + rows));
    }
    if (const std::string rows =
            rows_of(Kind::take_unless_dead,
                    [](const Asked& asked, const std::string& names, const std::string& lock_id) {
                        return names + ',' + lock_id + ',' + literal(asked.wanted->owner) + ',' +
                               literal(asked.wanted->note) + ',' + std::to_string(asked.ttl);
                    });
        !rows.empty()) {
        statements.push_back(take_statement(
            "with q (type, id, lockid, owner, note, ttl) as (values " + rows + ") select " +
            take_row("q.type, q.id", "q.lockid", "q.owner, q.note", stamp, read_now(floor),
                     "q.ttl") +
            " from q" + where_not_dead("q.lockid")));
    }
    if (const std::string rows =
            rows_of(Kind::prolong,
                    [](const Asked& asked, const std::string& names, const std::string& lock_id) {
                        return names + ',' + lock_id + ',' + std::to_string(asked.by) + ',' +
                               std::to_string(asked.until) + ',' + std::to_string(asked.hold);
                    });
        !rows.empty()) {
        const Source q = Source::many("type, id, lockid, by_us, until_us, hold_us", rows);
        statements.push_back(prolong_statement(q, floor, stamp));
    }
    std::vector<const LockKey*> keys;
    std::vector<const LockKey*> released;
    for (const Asked& asked : asked_) {
        keys.push_back(asked.key);
        if (asked.kind == Kind::end) released.push_back(asked.key);
    }
    if (!released.empty()) {
        const Source q = Source::many(
            "type, id, lockid",
            rows_of(Kind::end, [](const Asked& /*asked*/, const std::string& names,
                                  const std::string& lock_id) { return names + ',' + lock_id; }));
        statements.push_back(end_statement(q, floor, stamp));
        if (history_ == StoreOptions::KeepHistory::on) {
            statements.push_back(note_ends(released, stamp_));
        }
    }
    std::string read = select_leases(", batch, until_time", where_key_in(keys), floor);
    if (statements.empty()) return read;
    // In a compound statement only what is read is sent back, and the end.
    std::string script = "begin not atomic start transaction; ";
    for (const std::string& statement : statements) script += statement + "; ";
    return script += read + "; commit; end";
}

Time Shortcuts::run_many(Link& link, std::span<Outcome> outcomes) const {
    Script script;
    script.add(this->script());
    if (script.text().size() > longest_script) return {};
    auto results = only_checks() ? link.run(script) : link.commit(script);

    Time latest{};
    ResultSet& rows = results.front();
    while (rows.next()) {
        const auto asked = std::ranges::lower_bound(
            asked_, std::pair{rows.text(type), rows.text(id)}, {}, [](const Asked& a) {
                return std::pair<std::string_view, std::string_view>{a.key->type(), a.key->id()};
            });
        if (asked == asked_.end() || !is_about(rows, *asked->key, asked->lock_id)) continue;

        const bool by_this = rows.integer(batch) == stamp_;
        const bool is_alive =
            rows.integer(ended) == 0 && rows.integer(expiration) > rows.integer(decided_at);
        // A lease that is to be taken and alive without this was granted when asked for before.
        const bool answers_as_it_is = asked->kind == Kind::check || asked->wanted != nullptr;
        if (!by_this && !(answers_as_it_is && is_alive)) continue;

        const Time now = time_from(rows.integer(by_this ? touched_at : decided_at));
        Lease lease = lease_at(rows, *asked->key, asked->lock_id, now);
        if (asked->kind == Kind::end) lease.expires_at = time_from(rows.integer(until_time));
        outcomes[asked->index] = std::move(lease);
        latest = std::max(latest, now);
    }
    return latest;
}

}  // namespace leasehold::mariadb
