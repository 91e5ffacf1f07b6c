#include "stores/mariadb/rows.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <type_traits>
#include <utility>

#include "core/columns.hpp"
#include "core/sql_text.hpp"

namespace leasehold::mariadb {
namespace {

void append_number(std::string& sql, std::int64_t number) {
    std::array<char, 24> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    sql.append(digits.data(), end);
}

void append_value(std::string& sql, std::string_view bytes) {
    append_literal(sql, bytes);
}
void append_value(std::string& sql, std::int64_t number) {
    append_number(sql, number);
}
void append_value(std::string& sql, Time time) {
    append_number(sql, micros(time));
}
void append_value(std::string& sql, LockId id) {
    append_literal(sql, id.to_string());
}
void append_value(std::string& sql, Mode mode) {
    append_number(sql, number_of(mode));
}
void append_value(std::string& sql, Gone gone) {
    append_number(sql, number_of(gone));
}

// One row of values: (…, …).
class Values {
public:
    explicit Values(std::string& sql) : sql_{sql} {}
    template <class T>
    Values& add(const T& value) {
        separate();
        append_value(sql_, value);
        return *this;
    }
    Values& add_date(Time time, Duration zone) {
        separate();
        sql_ += date_literal(time, zone);
        return *this;
    }
    Values& add(const LockKey& key) { return add(key.type()).add(key.id()); }
    template <class Columns, class Row>
    Values& add(const Columns& columns, const Row& row) {
        for_each_column(columns, [&](const auto& column) { add(std::invoke(column.field, row)); });
        return *this;
    }
    void close() { sql_ += ')'; }

private:
    void separate() {
        sql_ += first_ ? '(' : ',';
        first_ = false;
    }
    std::string& sql_;
    bool first_ = true;
};

template <class Range, class Append>
std::string& list(std::string& sql, const Range& items, Append append) {
    bool first = true;
    for (const auto& item : items) {
        if (!first) sql += ',';
        first = false;
        append(item);
    }
    return sql;
}

// "(type = … and id in (…)) or …": the optimizer looks up each by the primary key.
std::string where_key_in(Keys keys, std::string_view table = "") {
    const std::string prefix{table};
    std::string sql;
    std::string_view type;
    for (const LockKey* key : keys) {
        if (type == key->type()) {
            sql += ',';
        } else {
            sql += type.empty() ? "(" : ")) or (";
            sql += prefix + "type = ";
            append_literal(sql, key->type());
            sql += " and " + prefix + "id in (";
            type = key->type();
        }
        append_literal(sql, key->id());
    }
    return sql += "))";
}

std::string where_lock_id_in(std::span<const LockId> lock_ids) {
    std::string sql = "lockid in (";
    list(sql, lock_ids, [&](LockId id) { append_literal(sql, id.to_string()); });
    return sql += ')';
}

std::string owner_condition(const std::string& owner, OwnerScope scope) {
    std::string sql = "(owner = " + literal(owner);
    if (scope == OwnerScope::below) {
        const PathRange range{owner};
        sql +=
            " or (owner >= " + literal(range.from) + " and owner < " + literal(range.before) + ')';
    }
    return sql += ')';
}

std::string key_after(const Place& place) {
    const std::string type = literal(place.type);
    return "(type > " + type + " or (type = " + type + " and id > " + literal(place.id) + "))";
}

// "insert into TABLE (type, id, ...) values (...), ..."; `key_of` and `row_of` give an item's key
// and the row with its fields.
template <class Columns, class Items, class KeyOf, class RowOf>
std::string insert_into(std::string_view table, const Columns& columns, const Items& items,
                        KeyOf key_of, RowOf row_of) {
    std::string sql =
        "insert into " + std::string{table} + " (type, id, " + names_of(columns) + ") values ";
    return list(sql, items, [&](const auto& item) {
        Values{sql}.add(std::invoke(key_of, item)).add(columns, std::invoke(row_of, item)).close();
    });
}

// Columns of table `locks` that every new row must name: they have no default, or one that takes
// the server long to compute.
bool has_cheap_default(std::string_view column) {
    return column != "lockid" && column != "expiration_time" && column != "fence" &&
           column != "granted_at";
}

bool all_have(std::span<const KeyedRow> rows, const auto& column, const auto& value) {
    return std::ranges::all_of(
        rows, [&](const KeyedRow& keyed) { return std::invoke(column.field, keyed.row) == value; });
}

void append_column(std::string& sql, const auto& column, const LockRow& row, Duration zone) {
    const auto& value = std::invoke(column.field, row);
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, Time>) {
        if (column.name == "expiration_time") return (void)(sql += date_literal(value, zone));
    }
    append_value(sql, value);
}

using ColumnSet = std::array<bool, count_of(lock_columns)>;

// The columns for which `is_in` holds.
ColumnSet lock_columns_where(auto is_in) {
    ColumnSet set{};
    std::size_t number = 0;
    for_each_column(lock_columns, [&](const auto& column) { set.at(number++) = is_in(column); });
    return set;
}

// Calls `use` with each column, and with whether it is in the set.
void for_each_lock_column(const ColumnSet& set, auto use) {
    std::size_t number = 0;
    for_each_column(lock_columns, [&](const auto& column) { use(column, set.at(number++)); });
}

// "insert into locks (type, id, ...) values (...), ...", without the columns that are left out:
// every value costs the server time to read.
std::string insert_into_locks(Duration zone, std::span<const KeyedRow> rows,
                              const ColumnSet& left_out) {
    std::string sql = "insert into locks (type, id";
    for_each_lock_column(left_out, [&](const auto& column, bool is_left_out) {
        if (!is_left_out) sql.append(", ").append(column.name);
    });
    sql += ") values ";
    return list(sql, rows, [&](const KeyedRow& keyed) {
        sql += '(';
        append_literal(sql, keyed.key->type());
        sql += ',';
        append_literal(sql, keyed.key->id());
        for_each_lock_column(left_out, [&](const auto& column, bool is_left_out) {
            if (is_left_out) return;
            sql += ',';
            append_column(sql, column, keyed.row, zone);
        });
        sql += ')';
    });
}

// " on duplicate key update ... = value(...), ..."
template <class Columns>
std::string overwriting(const Dialect& dialect, const Columns& columns) {
    return std::string{dialect.new_row} + " on duplicate key update " +
           listed(columns,
                  [&](const std::string& name) { return name + " = " + dialect.new_value(name); });
}

std::string select_joined(Keys keys, std::string_view zone, const std::string& which_shares) {
    const std::string select = sql_text(
        "select l.type, l.id, {lock_columns}, {share_columns} "
        "from locks l force index (primary) "
        "left join lock_shares s force index (primary) on l.mode = {shared} and l.ended = "
        "{not_ended} and s.type = l.type and s.id = l.id",
        {{"lock_columns", lock_names(lock_columns, zone, "l.")},
         {"share_columns", names_of(share_columns, "s.")}});
    return select + which_shares + " where " + where_key_in(keys, "l.");
}

}  // namespace

std::string literal(std::string_view bytes) {
    std::string sql;
    append_literal(sql, bytes);
    return sql;
}

std::string clock_query(std::string_view hint) {
    return "select " + std::string{hint} + std::string{clock_us} +
           ", ifnull((select value from leasehold where name = 'time_floor'), 0), "
           "ifnull((select value from leasehold where name = 'schema'), 0)";
}

std::string select_and_lock(const Dialect& dialect, Keys keys) {
    return std::string{dialect.for_skip_locked} + "select type, id, " +
           lock_names(lock_columns, own_zone) + " from locks force index (primary) where " +
           where_key_in(keys) + " for update skip locked";  // lab: lock-rows
}

std::string select_with_shares(Keys keys) {
    return select_joined(keys, own_zone, "");
}

std::string select_with_share(Keys keys, LockId lock_id) {
    return select_joined(keys, callers_zone, " and s.lockid = " + literal(lock_id.to_string()));
}

std::string select_shares(Keys keys) {
    return "select type, id, " + names_of(share_columns) +
           // lab: read-shares
           " from lock_shares force index (primary) where " + where_key_in(keys) +
           " order by fence";
}

std::string select_past(std::span<const LockId> lock_ids) {
    return "select type, id, " + names_of(history_columns) +
           " from lock_history force index (lock_history_lockid) where " +
           where_lock_id_in(lock_ids);
}

std::string select_keys(std::span<const LockId> lock_ids) {
    const std::string where = where_lock_id_in(lock_ids);
    return "select lockid, type, id from locks force index (locks_lockid) where " + where +
           " union all select lockid, type, id from lock_shares force index (lock_shares_lockid) "
           "where " +
           where +
           " union all select lockid, type, id from lock_history force index (lock_history_lockid) "
           "where " +
           where;
}

std::string select_keys(const std::string& owner, OwnerScope scope, std::size_t most) {
    const std::string where =
        owner_condition(owner, scope) + " and owner <> '' limit " + std::to_string(most) + ")";
    return sql_text("(select type, id, ended not in ({endings}) ") +
           "from locks force index (locks_owner) where " + where +
           // lab: owned-shares
           " union all (select type, id, 1 from lock_shares force index (lock_shares_owner) "
           "where " +
           where;
}

std::string select_from(const std::optional<Place>& after, std::size_t limit) {
    return "select type, id, " + micros_of("expiration_time", own_zone) +
           " from locks force index (primary) where " + (after ? key_after(*after) : "true") +
           " order by type, id limit " + std::to_string(limit);
}

std::string select_place_behind(const KeyPlace& place, std::size_t rows) {
    const std::string where = " force index (primary) where " +
                              key_after({.type = place.type, .id = place.id}) +
                              " order by type, id limit 1 offset " + std::to_string(rows - 1) + ")";
    return "(select type, id from locks" + where + " union all (select type, id from lock_shares" +
           where + " order by type, id limit 1";
}

std::string select_holders(const List& request, const std::optional<Place>& after,
                           const KeyPlace& until, std::size_t limit, Time now) {
    const std::string last_type = literal(until.type);
    std::string where = " and (type < " + last_type + " or (type = " + last_type +
                        " and id <= " + literal(until.id) + "))";
    if (after) {
        where += " and (" + key_after(*after) + " or (type = " + literal(after->type) +
                 " and id = " + literal(after->id) + " and fence > " +
                 std::to_string(after->fence) + "))";
    }
    if (request.type) where += " and type = " + literal(*request.type);
    if (request.owner) where += " and " + owner_condition(*request.owner, request.scope);
    const std::string at_most = " limit " + std::to_string(limit);
    return "(select type, id, " + lock_names(public_columns, own_zone) +
           sql_text(
               ", mode, ended from locks force index (primary) where mode <> {shared} and ended "
               "not "
               "in ({endings})") +
           " and expiration_time > " + date_of(now, own_zone) + where + " order by type, id" +
           at_most + ") union all (select type, id, " + names_of(public_columns) +
           sql_text(
               ", {shared}, {not_ended} from lock_shares force index (primary) where "
               "expiration_time > ") +
           std::to_string(micros(now)) + where + " order by type, id, fence" + at_most +
           ") order by type, id, fence" + at_most;
}

std::string select_history(const History& request, const std::optional<std::int64_t>& before,
                           std::size_t limit) {
    std::string sql =
        "select type, id, " + names_of(history_columns) + ", seq from lock_history where ";
    if (request.key) {
        sql += "type = " + literal(request.key->type()) +
               " and id = " + literal(request.key->id()) + " and ";
    }
    return sql + "seq < " + std::to_string(before.value_or(INT64_MAX)) +
           " order by seq desc limit " + std::to_string(limit);
}

std::string probe_rows(Keys keys) {
    return "select 1 from locks force index (primary) where " + where_key_in(keys) +
           " for update nowait";
}

std::string probe_floor() {
    return "select 1 from leasehold where name = 'time_floor' for update nowait";
}

std::string date_literal(Time time, Duration zone) {
    if (time == never) return std::string{date_of_never};
    using namespace std::chrono;
    const Time local = time + zone;
    const auto day = floor<days>(local);
    const year_month_day date{day};
    if (date.year() < 1000y || date.year() > 9999y) {
        return date_of(std::to_string(micros(time)), own_zone);
    }
    const hh_mm_ss clock{local - day};
    std::array<char, 48> text{};
    const int size = std::snprintf(
        text.data(), text.size(), "timestamp'%04d-%02u-%02u %02d:%02d:%02d.%06d'",
        static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
        static_cast<unsigned>(date.day()), static_cast<int>(clock.hours().count()),
        static_cast<int>(clock.minutes().count()), static_cast<int>(clock.seconds().count()),
        static_cast<int>(clock.subseconds().count()));
    return {text.data(), static_cast<std::size_t>(size)};
}

std::string insert_rows(Duration zone, std::span<const KeyedRow> rows) {
    static const LockRow defaults;
    const ColumnSet left_out = lock_columns_where([&](const auto& column) {
        return has_cheap_default(column.name) &&
               all_have(rows, column, std::invoke(column.field, defaults));
    });
    return insert_into_locks(zone, rows, left_out);
}

std::string overwrite_rows(const Dialect& dialect, Duration zone, std::span<const KeyedRow> rows) {
    const LockRow& first = rows.front().row;
    const ColumnSet same = lock_columns_where([&](const auto& column) {
        return all_have(rows, column, std::invoke(column.field, first));
    });
    ColumnSet left_out{};
    for_each_lock_column(same, [&, number = 0U](const auto& column, bool is_same) mutable {
        left_out.at(number++) = is_same && has_cheap_default(column.name);
    });
    std::string sql = insert_into_locks(zone, rows, left_out);
    sql.append(dialect.new_row).append(" on duplicate key update ");
    bool is_first = true;
    for_each_lock_column(same, [&](const auto& column, bool is_same) {
        if (!std::exchange(is_first, false)) sql += ", ";
        sql.append(column.name).append(" = ");
        if (is_same) {
            append_column(sql, column, first, zone);
        } else {
            sql += dialect.new_value(column.name);
        }
    });
    return sql;
}

std::string prolong_rows(const Dialect& dialect, Duration zone, std::span<const KeyedRow> rows) {
    // Columns with a computed default get a value, so that the default is not computed.
    std::string sql =
        "insert into locks (type, id, lockid, expiration_time, touched_at, fence, granted_at) "
        "values ";
    list(sql, rows, [&](const KeyedRow& keyed) {
        Values{sql}
            .add(*keyed.key)
            .add(keyed.row.lock_id)
            .add_date(keyed.row.expires_at, zone)
            .add(keyed.row.touched_at)
            .add(0)
            .add(0)
            .close();
    });
    return sql.append(dialect.new_row) +
           " on duplicate key update expiration_time = " + dialect.new_value("expiration_time") +
           ", touched_at = " + dialect.new_value("touched_at");
}

std::string end_rows(Duration zone, const LockRow& row, Keys keys) {
    std::string sql = "update locks force index (primary) set expiration_time = " +
                      date_literal(row.expires_at, zone);
    for_each_column(state_columns, [&](const auto& column) {
        sql.append(", ").append(column.name).append(" = ");
        append_value(sql, std::invoke(column.field, row));
    });
    return sql + " where " + where_key_in(keys);
}

std::string update_row(const KeyedRow& keyed) {
    std::string sql = "update locks force index (primary) set ";
    bool first = true;
    for_each_column(lock_columns, [&](const auto& column) {
        if (!first) sql += ", ";
        first = false;
        sql.append(column.name).append(" = ");
        const auto& value = std::invoke(column.field, keyed.row);
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, Time>) {
            if (column.name == "expiration_time") {
                sql += date_of(value, callers_zone);
                return;
            }
        }
        append_value(sql, value);
    });
    const LockKey* const key = keyed.key;
    return sql + " where " + where_key_in({&key, 1});
}

std::string delete_rows(Keys keys) {
    // The multi-table form of DELETE, because it takes an index hint.
    return "delete l from locks l force index (primary) where " + where_key_in(keys);
}

std::string insert_shares(std::span<const KeyedShare> shares) {
    return insert_into(
        "lock_shares", share_columns, shares,
        [](const KeyedShare& share) -> const LockKey& { return *share.key; },
        [](const KeyedShare& share) -> const Grant& { return *share.grant; });
}

std::string write_shares(const Dialect& dialect, std::span<const KeyedShare> shares) {
    return insert_shares(shares) + overwriting(dialect, public_columns);
}

std::string delete_shares(std::span<const KeyedId> shares) {
    std::string sql = "delete s from lock_shares s force index (primary) where ";
    bool first = true;
    for (const auto& [key, id] : shares) {
        sql += first ? "(type = " : " or (type = ";
        first = false;
        append_literal(sql, key->type());
        sql += " and id = ";
        append_literal(sql, key->id());
        sql += " and lockid = ";
        append_literal(sql, id.to_string());
        sql += ')';
    }
    return sql;
}

std::string add_to_history(std::span<const Ended> endings) {
    return insert_into("lock_history", history_columns, endings, &Ended::key,
                       [](const Ended& ended) -> const Ending& { return *ended.ending; });
}

std::string raise_floor(Time floor) {
    return "update leasehold set value = greatest(value, " + std::to_string(micros(floor)) +
           ") where name = 'time_floor'";
}

}  // namespace leasehold::mariadb
