#include "stores/mariadb/rows.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/columns.hpp"

namespace leasehold::mariadb {
namespace {

constexpr std::string_view history_columns =
    "type, id, lockid, owner, mode, fence, granted_at, expiration_time, ended, ended_at, ended_by, "
    "ended_why, note";

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

std::string insert_into_locks(std::span<const KeyedRow> rows) {
    std::string sql = "insert into locks (type, id, " + std::string{row_columns} + ") values ";
    return list(sql, rows, [&](const KeyedRow& keyed) {
        const LockRow& row = keyed.row;
        Values{sql}
            .add(*keyed.key)
            .add(row.lock_id)
            .add(row.expires_at)
            .add(row.owner)
            .add(number_of(row.mode))
            .add(row.fence)
            .add(row.granted_at)
            .add(row.touched_at)
            .add(row.note)
            .add(number_of(row.ended))
            .add(row.ended_at)
            .add(row.ended_by)
            .add(row.ended_why)
            .close();
    });
}

std::string select_joined(Keys keys, const std::string& which_shares) {
    return "select l.type, l.id, l.lockid, l.expiration_time, l.owner, l.mode, l.fence, "
           "l.granted_at, "
           "l.touched_at, l.note, l.ended, l.ended_at, l.ended_by, l.ended_why, s.lockid, "
           "s.expiration_time, s.owner, s.fence, s.granted_at, s.note "
           "from locks l force index (primary) left join lock_shares s force index (primary) "
           "on l.mode = 1 and l.ended = 0 and s.type = l.type and s.id = l.id" +
           which_shares + " where " + where_key_in(keys, "l.");
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
    return std::string{for_skip_locked} + "select type, id, " + std::string{row_columns} +
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
    return "select type, id, " + std::string{share_columns} +
           // lab: read-shares
           " from lock_shares force index (primary) where " + where_key_in(keys) +
           " order by fence";
}

std::string select_past(std::span<const LockId> lock_ids) {
    return "select " + std::string{history_columns} +
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
    return "select type, id from locks force index (locks_owner) where ended = 0 and " + where +
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
    return "(select type, id, owner, mode, fence, granted_at, expiration_time, note from locks "
           "where mode = 0 and ended = 0" +
           where + " order by type, id" + at_most +
           ") union all (select type, id, owner, 1, fence, granted_at, expiration_time, note "
           "from lock_shares where true" +
           where + " order by type, id, fence" + at_most + ") order by 1, 2, 5" + at_most;
}

std::string select_history(const History& request, const std::optional<std::int64_t>& before,
                           std::size_t limit, Time oldest) {
    std::string sql = "select " + std::string{history_columns} + ", seq from lock_history where ";
    if (request.key) {
        sql += "type = " + literal(request.key->type()) +
               " and id = " + literal(request.key->id()) + " and ";
    }
    if (before) sql += "seq < " + std::to_string(*before) + " and ";
    return sql + "ended_at >= " + std::to_string(micros(oldest)) + " order by seq desc limit " +
           std::to_string(limit);
}

std::optional<LockKey> key_at(const ResultSet& row, unsigned column) {
    auto key = LockKey::parse(row.text(column), row.text(column + 1));
    return key ? std::optional{*std::move(key)} : std::nullopt;
}

LockRow row_at(const ResultSet& row, unsigned column) {
    return {{.lock_id = lock_id_from(row.text(column)),
             .owner = std::string{row.text(column + 2)},
             .mode = mode_from(row.integer(column + 3)),
             .fence = row.integer(column + 4),
             .granted_at = time_from(row.integer(column + 5)),
             .expires_at = time_from(row.integer(column + 1)),
             .note = std::string{row.text(column + 7)}},
            time_from(row.integer(column + 6)),
            gone_from(row.integer(column + 8)),
            time_from(row.integer(column + 9)),
            std::string{row.text(column + 10)},
            std::string{row.text(column + 11)}};
}

Grant share_at(const ResultSet& row, unsigned column) {
    return {.lock_id = lock_id_from(row.text(column)),
            .owner = std::string{row.text(column + 2)},
            .mode = Mode::shared,
            .fence = row.integer(column + 3),
            .granted_at = time_from(row.integer(column + 4)),
            .expires_at = time_from(row.integer(column + 1)),
            .note = std::string{row.text(column + 5)}};
}

std::optional<Holder> holder_at(const ResultSet& row) {
    auto key = key_at(row, 0);
    if (!key) return std::nullopt;
    return Holder{.key = *std::move(key),
                  .owner = std::string{row.text(2)},
                  .mode = mode_from(row.integer(3)),
                  .fence = row.integer(4),
                  .granted_at = time_from(row.integer(5)),
                  .expires_at = time_from(row.integer(6)),
                  .note = std::string{row.text(7)}};
}

std::optional<Ended> ended_at(const ResultSet& row) {
    auto key = key_at(row, 0);
    if (!key) return std::nullopt;
    return Ended{*std::move(key),
                 {.grant = {.lock_id = lock_id_from(row.text(2)),
                            .owner = std::string{row.text(3)},
                            .mode = mode_from(row.integer(4)),
                            .fence = row.integer(5),
                            .granted_at = time_from(row.integer(6)),
                            .expires_at = time_from(row.integer(7)),
                            .note = std::string{row.text(12)}},
                  .how = gone_from(row.integer(8)),
                  .at = time_from(row.integer(9)),
                  .by = std::string{row.text(10)},
                  .why = std::string{row.text(11)}}};
}

std::string insert_rows(std::span<const KeyedRow> rows) {
    return insert_into_locks(rows);
}

std::string overwrite_rows(std::span<const KeyedRow> rows) {
    return insert_into_locks(rows) +
           " on duplicate key update lockid = value(lockid), "
           "expiration_time = value(expiration_time), owner = value(owner), mode = value(mode), "
           "fence = value(fence), granted_at = value(granted_at), touched_at = value(touched_at), "
           "note = value(note), ended = value(ended), ended_at = value(ended_at), "
           "ended_by = value(ended_by), ended_why = value(ended_why)";
}

std::string prolong_rows(std::span<const KeyedRow> rows) {
    // The columns with a computed default are given, so that it is not computed in vain.
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
    // The form for several tables, because it takes an index hint.
    return "delete l from locks l force index (primary) where " + where_key_in(keys);
}

std::string insert_shares(std::span<const KeyedShare> shares) {
    std::string sql =
        "insert into lock_shares (type, id, " + std::string{share_columns} + ") values ";
    list(sql, shares, [&](const KeyedShare& share) {
        Values{sql}
            .add(*share.key)
            .add(share.grant->lock_id)
            .add(share.grant->expires_at)
            .add(share.grant->owner)
            .add(share.grant->fence)
            .add(share.grant->granted_at)
            .add(share.grant->note)
            .close();
    });
    return sql;
}

std::string write_shares(std::span<const KeyedShare> shares) {
    return insert_shares(shares) +
           " on duplicate key update expiration_time = value(expiration_time), owner = "
           "value(owner), fence = value(fence), granted_at = value(granted_at), note = value(note)";
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
    std::string sql = "insert into lock_history (" + std::string{history_columns} + ") values ";
    return list(sql, endings, [&](const Ended& ended) {
        const Ending& ending = *ended.ending;
        Values{sql}
            .add(ended.key)
            .add(ending.grant.lock_id)
            .add(ending.grant.owner)
            .add(number_of(ending.grant.mode))
            .add(ending.grant.fence)
            .add(ending.grant.granted_at)
            .add(ending.grant.expires_at)
            .add(number_of(ending.how))
            .add(ending.at)
            .add(ending.by)
            .add(ending.why)
            .add(ending.grant.note)
            .close();
    });
}

std::string raise_floor(Time floor) {
    return "update leasehold set value = greatest(value, " + std::to_string(micros(floor)) +
           ") where name = 'time_floor'";
}

}  // namespace leasehold::mariadb
