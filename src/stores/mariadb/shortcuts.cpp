#include "stores/mariadb/shortcuts.hpp"

#include <mysqld_error.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "core/columns.hpp"
#include "stores/mariadb/rows.hpp"

// How the statements decide. MariaDB makes the assignments of ON DUPLICATE KEY UPDATE one after the
// other on the locked row, each seeing those before it. So the first one decides, by a clock read
// there and then, and leaves its decision in `mode`: 2 is "go ahead", and the last assignment takes
// it away. Prolonging is written as an insert of a row that is there, because UPDATE cannot return
// rows.
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

// Where a statement gets its requests from: parameters of one, or a table `q` of many.
class Source {
public:
    static Source one() { return {}; }
    static Source many(const std::string& rows) { return Source{"(" + rows + ") q"}; }

    [[nodiscard]] std::string column(const std::string& name) const {
        return table_.empty() ? "?" : "q." + name;
    }
    // "from …" alone, and "from … locks s", looked up by the primary key.
    [[nodiscard]] std::string from() const {
        return table_.empty() ? "from dual" : "from " + table_;
    }
    [[nodiscard]] std::string locks() const {
        return table_.empty() ? "locks s force index (primary)"
                              : table_ + " straight_join locks s force index (primary)";
    }
    [[nodiscard]] std::string where_mine() const {
        return " where s.type = " + column("type") + " and s.id = " + column("id") +
               " and s.lockid = " + column("lockid") + " and s.ended = 0 and s.mode = 0";
    }

private:
    Source() = default;
    explicit Source(std::string table) : table_{std::move(table)} {}
    std::string table_;
};

std::string assign_if_going_ahead(const std::string& column, const std::string& value) {
    return column + " = if(locks.mode = 2, " + value + ", locks." + column + "), ";
}
const std::string clear_decision = "mode = if(locks.mode = 2, 0, locks.mode)";

// Takes keys that are free or have no row. A lock id that is in the history is dead; one that was
// drawn just now is not looked up there.
// Columns: type, id, lockid, owner, note, floor, ttl, then lockid where it is looked up, and floor.
std::string try_statement(const Source& q, const std::string& floor, Drawn drawn) {
    const std::string not_dead = drawn == Drawn::for_this
                                     ? ""
                                     : " where (select 1 from lock_history force index "
                                       "(lock_history_lockid) where lockid = " +
                                           q.column("lockid") + " limit 1) is null";
    return "insert into locks (type, id, lockid, owner, note, touched_at, fence, granted_at, "
           "expiration_time) select " +
           q.column("type") + ", " + q.column("id") + ", " + q.column("lockid") + ", " +
           q.column("owner") + ", " + q.column("note") + ", (@now := greatest(" + clock_us + ", " +
           floor + ")), @now, @now, @now + " + q.column("ttl") + ' ' + q.from() + not_dead +
           " on duplicate key update "
           "mode = if(locks.ended <> 0 and locks.type = value(type) and locks.id = value(id) and "
           "locks.lockid <> value(lockid), 2, locks.mode), " +
           assign_if_going_ahead(
               "touched_at", "greatest(" + clock_us + ", locks.touched_at, value(touched_at))") +
           assign_if_going_ahead("lockid", "value(lockid)") +
           assign_if_going_ahead("owner", "value(owner)") +
           assign_if_going_ahead("note", "value(note)") +
           assign_if_going_ahead("fence", "greatest(locks.fence + 1, locks.touched_at)") +
           assign_if_going_ahead("granted_at", "locks.touched_at") +
           assign_if_going_ahead("expiration_time",
                                 "locks.touched_at + value(expiration_time) - value(granted_at)") +
           assign_if_going_ahead("ended_at", "0") + assign_if_going_ahead("ended_by", "''") +
           assign_if_going_ahead("ended_why", "''") + assign_if_going_ahead("ended", "0") +
           clear_decision + " returning " + lease_columns + "greatest(" + clock_us +
           ", touched_at, " + floor + ")";
}

// Columns: type, id, lockid, floor, by, until, hold.
std::string prolong_statement(const Source& q, const std::string& floor) {
    return "insert into locks (type, id, lockid, expiration_time, owner, fence, granted_at, "
           "touched_at, note) select s.type, s.id, s.lockid, s.expiration_time, s.owner, s.fence, "
           "s.granted_at, s.touched_at, s.note from " +
           q.locks() + q.where_mine() + " and s.expiration_time > " + clock_us +
           " on duplicate key update "
           "mode = if(locks.lockid = value(lockid) and locks.ended = 0 and locks.mode = 0 and "
           "locks.expiration_time < " +
           std::to_string(unbounded_us) + " and locks.expiration_time > (@now := greatest(" +
           clock_us + ", locks.touched_at, " + floor + ")), 2, locks.mode), " +
           assign_if_going_ahead("touched_at", "@now") +
           assign_if_going_ahead("expiration_time",
                                 "greatest(locks.expiration_time, least(locks.expiration_time + " +
                                     q.column("by_us") + ", locks.touched_at + " +
                                     q.column("until_us") + ", locks.granted_at + " +
                                     q.column("hold_us") + "))") +
           clear_decision + " returning " + lease_columns + "@now";
}

// Ends one lease, and keeps what its history needs. Parameters: type, id, lockid, floor.
const std::string end_statement =
    "update locks force index (primary) set expiration_time = @now, touched_at = @now, ended = 2, "
    "ended_at = @now where type = ? and id = ? and lockid = ? and ended = 0 and mode = 0 and "
    "(@owner := owner) is not null and (@fence := fence) is not null and "
    "(@granted_at := granted_at) is not null and (@note := note) is not null and "
    "(@expiration_time := expiration_time) > (@now := greatest(" +
    clock_us + ", touched_at, ?))";

// The history of the lease ended just before. Where none was, the null is an error, and the script
// ends here. As rows of values: INSERT ... SELECT would lock the whole table for its automatic
// numbers. Parameters: type, id, lockid.
const std::string note_end_statement =
    "insert into lock_history (type, id, lockid, owner, mode, fence, granted_at, expiration_time, "
    "ended, ended_at, ended_by, ended_why, note) values (?, ?, ?, @owner, 0, @fence, @granted_at, "
    "if(row_count() = 1, @expiration_time, null), 2, @now, '', '', @note) "
    "returning type, id, lockid, owner, mode, fence, granted_at, expiration_time, note, 0, "
    "ended_at, "
    "ended_at";

// Columns: floor, type, id, lockid.
std::string check_statement(const Source& q, const std::string& floor) {
    return "select s.type, s.id, s.lockid, s.owner, s.mode, s.fence, s.granted_at, "
           "s.expiration_time, "
           "s.note, s.ended, s.touched_at, greatest(" +
           clock_us + ", s.touched_at, " + floor + ") from " + q.locks() + q.where_mine();
}

std::string execute(const std::string& statement, const std::vector<std::string>& values) {
    std::string sql = "execute leasehold_" + statement + " using ";
    for (const std::string& value : values) {
        if (&value != values.data()) sql += ',';
        sql += value;
    }
    return sql;
}

using Names = std::span<const std::string_view>;
constexpr std::array<std::string_view, 6> try_names{"type", "id", "lockid", "owner", "note", "ttl"};
constexpr std::array<std::string_view, 6> prolong_names{"type",  "id",       "lockid",
                                                        "by_us", "until_us", "hold_us"};
constexpr std::array<std::string_view, 3> lease_names{"type", "id", "lockid"};

// The requests as a table.
template <class Kind>
Source table_of(const Kind& kind, Names names) {
    std::string sql;
    for (const auto& asked : kind) {
        const bool first = &asked == kind.data();
        sql += first ? "select " : " union all select ";
        auto name = names.begin();
        for (const std::string& value : asked.values) {
            if (name != names.begin()) sql += ',';
            sql += value;
            if (first) {
                sql += " as ";
                sql += *name;
            }
            ++name;
        }
    }
    return Source::many(sql);
}

Lease lease_at(const ResultSet& row, const LockKey& key, LockId lock_id, Time now) {
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

std::vector<std::string> named(const LockKey& key, LockId lock_id) {
    return {literal(key.type()), literal(key.id()), literal(lock_id.to_string())};
}

std::string bounded(Duration duration) {
    return std::to_string(std::min<std::int64_t>(duration.count(), unbounded_us));
}

}  // namespace

Script Shortcuts::preparation() {
    Script script;
    const auto prepare = [&](const std::string& name, const std::string& sql) {
        std::string quoted;
        for (const char c : sql) quoted.append(c == '\'' ? 2 : 1, c);
        script.add("prepare leasehold_" + name + " from '" + quoted + "'");
    };
    const Source one = Source::one();
    prepare("try", try_statement(one, "?", Drawn::before));
    prepare("try_new", try_statement(one, "?", Drawn::for_this));
    prepare("prolong", prolong_statement(one, "?"));
    prepare("end", end_statement);
    prepare("note_end", note_end_statement);
    prepare("check", check_statement(one, "?"));
    return script;
}

void Shortcuts::add(std::size_t index, const TryLock& request) {
    Asked asked{index, &request.key, request.lock_id, named(request.key, request.lock_id)};
    asked.values.push_back(literal(request.owner));
    asked.values.push_back(literal(request.note));
    if (request.drawn == Drawn::before) drawn_ = Drawn::before;
    asked.values.push_back(
        bounded(request.max_hold ? std::min(request.ttl, *request.max_hold) : request.ttl));
    tries_.push_back(std::move(asked));
}

void Shortcuts::add(std::size_t index, const Check& request) {
    checks_.push_back(
        {index, &*request.key, request.lock_id, named(*request.key, request.lock_id)});
}

void Shortcuts::add(std::size_t index, const Extend& request) {
    prolong(index, *request.key, request.lock_id, request.by, request.max_ttl, request.max_hold);
}

void Shortcuts::add(std::size_t index, const Renew& request) {
    prolong(index, *request.key, request.lock_id, until_released, request.ttl, request.max_hold);
}

void Shortcuts::add(std::size_t index, const Release& request) {
    releases_.push_back(
        {index, &*request.key, request.lock_id, named(*request.key, request.lock_id)});
}

void Shortcuts::prolong(std::size_t index, const LockKey& key, LockId lock_id, Duration by,
                        Duration until, const std::optional<Duration>& max_hold) {
    Asked asked{index, &key, lock_id, named(key, lock_id)};
    asked.values.push_back(bounded(by));
    asked.values.push_back(bounded(until));
    asked.values.push_back(bounded(max_hold.value_or(until_released)));
    prolongs_.push_back(std::move(asked));
}

Script Shortcuts::script() const {
    const std::string floor = std::to_string(micros(floor_));
    const std::size_t kinds =
        (tries_.empty() ? 0U : 1U) + (prolongs_.empty() ? 0U : 1U) + (checks_.empty() ? 0U : 1U);
    // A single statement that writes commits by itself.
    const bool together = !releases_.empty() || (kinds > 1 && !only_checks());
    Script script;
    if (together) script.add("start transaction");
    if (tries_.size() == 1) {
        const std::vector<std::string>& v = tries_.front().values;
        script.add(drawn_ == Drawn::for_this
                       ? execute("try_new", {v[0], v[1], v[2], v[3], v[4], floor, v[5], floor})
                       : execute("try", {v[0], v[1], v[2], v[3], v[4], floor, v[5], v[2], floor}));
    } else if (!tries_.empty()) {
        script.add(try_statement(table_of(tries_, try_names), floor, drawn_));
    }
    if (prolongs_.size() == 1) {
        const std::vector<std::string>& v = prolongs_.front().values;
        script.add(execute("prolong", {v[0], v[1], v[2], floor, v[3], v[4], v[5]}));
    } else if (!prolongs_.empty()) {
        script.add(prolong_statement(table_of(prolongs_, prolong_names), floor));
    }
    if (!releases_.empty()) {
        const std::vector<std::string>& v = releases_.front().values;
        script.add(execute("end", {v[0], v[1], v[2], floor})).add(execute("note_end", v));
    }
    if (checks_.size() == 1) {
        const std::vector<std::string>& v = checks_.front().values;
        script.add(execute("check", {floor, v[0], v[1], v[2]}));
    } else if (!checks_.empty()) {
        script.add(check_statement(table_of(checks_, lease_names), floor));
    }
    if (together) script.add("commit");
    return script;
}

bool Shortcuts::found_no_lease(const SqlError& error) const {
    return !releases_.empty() && error.number() == ER_BAD_NULL_ERROR &&
           error.effect() == StoreFault::Effect::none;
}

Time Shortcuts::take(std::span<ResultSet> results, std::span<Outcome> outcomes) const {
    Time latest{};
    const auto each = [&](const Kind& kind, ResultSet& rows, auto decide) {
        while (rows.next()) {
            const auto place = std::ranges::lower_bound(
                kind, std::pair{rows.text(type), rows.text(id)}, {}, [](const Asked& asked) {
                    return std::pair<std::string_view, std::string_view>{asked.key->type(),
                                                                         asked.key->id()};
                });
            if (place == kind.end() || place->key->type() != rows.text(type) ||
                place->key->id() != rows.text(id) || rows.integer(mode) != 0 ||
                rows.integer(ended) != 0 || lock_id_from(rows.text(lockid)) != place->lock_id) {
                continue;
            }
            const Time now = decide(rows);
            if (time_from(rows.integer(expiration)) <= now) continue;
            latest = std::max(latest, now);
            outcomes[place->index] = lease_at(rows, *place->key, place->lock_id, now);
        }
    };
    std::size_t at = 0;
    if (!tries_.empty()) {
        each(tries_, results[at++], [this](const ResultSet& row) {
            // A lock id that was drawn for this was granted by this; another may have been before.
            return time_from(row.integer(drawn_ == Drawn::for_this ? touched_at : decided_at));
        });
    }
    if (!prolongs_.empty()) {
        each(prolongs_, results[at++], [](const ResultSet& row) {
            // Another time than that of this decision: it was left as it was.
            return row.integer(touched_at) == row.integer(decided_at)
                       ? time_from(row.integer(touched_at))
                       : Time::max();
        });
    }
    const auto decided = [](const ResultSet& row) { return time_from(row.integer(decided_at)); };
    if (!releases_.empty()) each(releases_, results[at++], decided);
    if (!checks_.empty()) each(checks_, results[at++], decided);
    return latest;
}

}  // namespace leasehold::mariadb
