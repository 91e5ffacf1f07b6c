#include "stores/mariadb/rows.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/columns.hpp"
#include "core/sql_text.hpp"

namespace leasehold::mariadb {
namespace {

void append_number(std::string& sql, std::int64_t number) {
    std::array<char, 24> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    sql.append(digits.data(), end);
}

// One row of values: (…, …).
class Values {
public:
    explicit Values(std::string& sql) : sql_{sql} {}
    Values& add(std::string_view bytes) {
        separate();
        append_literal(sql_, bytes);
        return *this;
    }
    Values& add(std::int64_t number) {
        separate();
        append_number(sql_, number);
        return *this;
    }
    Values& add(const LockKey& key) { return add(key.type()).add(key.id()); }
    Values& add(Time time) { return add(micros(time)); }
    Values& add(LockId id) { return add(id.to_string()); }
    Values& add(Mode mode) { return add(number_of(mode)); }
    Values& add(Gone gone) { return add(number_of(gone)); }
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

std::string insert_into_locks(std::span<const KeyedRow> rows) {
    return insert_into(
        "locks", lock_columns, rows,
        [](const KeyedRow& keyed) -> const LockKey& { return *keyed.key; }, &KeyedRow::row);
}

// "... = value(...), ..."
template <class Columns>
std::string overwriting(const Columns& columns) {
    return " on duplicate key update " +
           listed(columns, [](const std::string& name) { return name + " = value(" + name + ")"; });
}

std::string select_joined(Keys keys, const std::string& which_shares) {
    static const std::string select = sql_text(
        "select l.type, l.id, {lock_columns}, {share_columns} "
        "from locks l force index (primary) "
        "left join lock_shares s force index (primary) on l.mode = {shared} and l.ended = "
        "{not_ended} and s.type = l.type and s.id = l.id",
        {{"lock_columns", names_of(lock_columns, "l.")},
         {"share_columns", names_of(share_columns, "s.")}});
    return select + which_shares + " where " + where_key_in(keys, "l.");
}

}  // namespace

void append_literal(std::string& sql, std::string_view bytes) {
    const auto is_plain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '-' && c <= ':') ||
               c == '_' || c == ' ';
    };
    if (std::ranges::all_of(bytes, is_plain)) {
        sql += '\'';
        sql += bytes;
    } else {
        static constexpr std::string_view digits = "0123456789abcdef";
        sql += "x'";
        for (const char c : bytes) {
            const auto byte = static_cast<unsigned char>(c);
            sql += digits[byte >> 4U];
            sql += digits[byte & 0xFU];
        }
    }
    sql += '\'';
}

std::string literal(std::string_view bytes) {
    std::string sql;
    append_literal(sql, bytes);
    return sql;
}

std::string select_and_lock(Keys keys) {
    return std::string{for_skip_locked} + "select type, id, " + names_of(lock_columns) +
           " from locks force index (primary) where " + where_key_in(keys) +
           " for update skip locked";  // lab: lock-rows
}

std::string select_with_shares(Keys keys) {
    return select_joined(keys, "");
}

std::string select_with_share(Keys keys, LockId lock_id) {
    return select_joined(keys, " and s.lockid = " + literal(lock_id.to_string()));
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

std::string select_keys(const std::string& owner, OwnerScope scope) {
    const std::string where = owner_condition(owner, scope) + " and owner <> ''";
    return "select type, id from locks force index (locks_owner) where " +
           sql_text("ended not in ({endings}) and ") + where +
           // lab: owned-shares
           " union all select type, id from lock_shares force index (lock_shares_owner) where " +
           where;
}

std::string select_from(const std::optional<Place>& after, std::size_t limit) {
    return "select type, id, expiration_time from locks force index (primary) where " +
           (after ? key_after(*after) : "true") + " order by type, id limit " +
           std::to_string(limit);
}

std::string select_holders(const List& request, const std::optional<Place>& after,
                           std::size_t limit, Time now) {
    std::string where = " and expiration_time > " + std::to_string(micros(now));
    if (after) {
        where += " and (" + key_after(*after) + " or (type = " + literal(after->type) +
                 " and id = " + literal(after->id) + " and fence > " +
                 std::to_string(after->fence) + "))";
    }
    if (request.type) where += " and type = " + literal(*request.type);
    if (request.owner) where += " and " + owner_condition(*request.owner, request.scope);
    const std::string at_most = " limit " + std::to_string(limit);
    static const std::string columns = names_of(public_columns);
    return "(select type, id, " + columns +
           sql_text(
               ", mode, ended from locks where mode <> {shared} and ended not in ({endings})") +
           where + " order by type, id" + at_most + ") union all (select type, id, " + columns +
           sql_text(", {shared}, {not_ended} from lock_shares where true") + where +
           " order by type, id, fence" + at_most + ") order by type, id, fence" + at_most;
}

std::string select_history(const History& request, const std::optional<std::int64_t>& before,
                           std::size_t limit, Time oldest) {
    std::string sql =
        "select type, id, " + names_of(history_columns) + ", seq from lock_history where ";
    if (request.key) {
        sql += "type = " + literal(request.key->type()) +
               " and id = " + literal(request.key->id()) + " and ";
    }
    if (before) sql += "seq < " + std::to_string(*before) + " and ";
    return sql + "ended_at >= " + std::to_string(micros(oldest)) + " order by seq desc limit " +
           std::to_string(limit);
}

std::string insert_rows(std::span<const KeyedRow> rows) {
    return insert_into_locks(rows);
}

std::string overwrite_rows(std::span<const KeyedRow> rows) {
    return insert_into_locks(rows) + overwriting(lock_columns);
}

std::string prolong_rows(std::span<const KeyedRow> rows) {
    // Columns with a computed default get a value, so that the default is not computed.
    std::string sql =
        "insert into locks (type, id, lockid, expiration_time, touched_at, fence, granted_at) "
        "values ";
    list(sql, rows, [&](const KeyedRow& keyed) {
        Values{sql}
            .add(*keyed.key)
            .add(keyed.row.lock_id)
            .add(keyed.row.expires_at)
            .add(keyed.row.touched_at)
            .add(0)
            .add(0)
            .close();
    });
    return sql +
           " on duplicate key update expiration_time = value(expiration_time), "
           "touched_at = value(touched_at)";
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

std::string write_shares(std::span<const KeyedShare> shares) {
    return insert_shares(shares) + overwriting(public_columns);
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
