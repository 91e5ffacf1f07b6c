#include "stores/sqlite/rows.hpp"

#include <sqlite3.h>

#include "core/lock_tables.hpp"
#include "core/schema.hpp"
#include "core/sql_text.hpp"

namespace leasehold::sqlite {
namespace {

// A row of the history: type, id, history_columns, seq, past.
constexpr int seq_column = 2 + count_of(history_columns);
constexpr int past_column = seq_column + 1;

void bind_field(Statement& statement, int index, const std::string& field) {
    statement.bind(index, field);
}
void bind_field(Statement& statement, int index, std::int64_t field) {
    statement.bind(index, field);
}
void bind_field(Statement& statement, int index, Time field) {
    statement.bind(index, micros(field));
}
void bind_field(Statement& statement, int index, LockId field) {
    statement.bind_copy(index, field.to_string());
}
template <class Enum>
    requires std::is_enum_v<Enum>
void bind_field(Statement& statement, int index, Enum field) {
    statement.bind(index, number_of(field));
}

// Binds the columns to the parameters from `first` on. Returns the number of the next parameter.
template <class Columns, class Row>
int bind_columns(Statement& statement, int first, const Columns& columns, const Row& row) {
    for_each_column(columns, [&](const auto& column) {
        bind_field(statement, first++, std::invoke(column.field, row));
    });
    return first;
}

// The columns that change while a lease stays the same. No index has them.
constexpr auto changing_columns =
    std::tuple_cat(std::tuple{Column{"expiration_time", &Grant::expires_at}}, state_columns);

// "?1, ?2, ..." from `first` on, one for each column.
template <class Columns>
std::string parameters(const Columns& columns, int first) {
    return listed(columns,
                  [&](const std::string& /*name*/) { return "?" + std::to_string(first++); });
}

// "lockid = ?1, ..." from `first` on.
template <class Columns>
std::string assignments(const Columns& columns, int first) {
    return listed(columns,
                  [&](const std::string& name) { return name + " = ?" + std::to_string(first++); });
}

// "?N": the parameter after the parameters of the columns.
template <class Columns>
std::string parameter_after(const Columns& columns, int further = 1) {
    return "?" + std::to_string(count_of(columns) + further);
}

void take_keys(Statement& rows, OwnedKeys& owned) {
    for (; rows.step(); ++owned.rows) {
        if (rows.integer(2) == 0) continue;
        if (auto key = key_at(rows, 0)) owned.keys.push_back(*std::move(key));
    }
}

std::string history_query(std::string_view rest) {
    return "select type, id, " + names_of(history_columns) + ", seq, past from lock_history " +
           std::string{rest};
}

}  // namespace

Rows::Rows(::sqlite3* db, std::size_t version)
    : db_{db},
      version_{version},
      find_{db, "select " + names_of(lock_columns) +
                    ", rowid, past from locks where type = ?1 and id = ?2"},
      shares_{db, "select " + names_of(share_columns) +
                      " from lock_shares where type = ?1 and id = ?2 order by fence"},
      past_{db, history_query("where lockid = ?1 order by seq desc limit 1")},
      past_row_{db, history_query("where seq = ?1")},
      locate_{db,
              "select type, id from locks where lockid = ?1 union all "
              "select type, id from lock_shares where lockid = ?1 union all "
              "select type, id from lock_history where lockid = ?1 limit 1"},
      owner_{db, sql_text("select * from (select type, id, ended not in ({endings}) from locks "
                          "where owner = ?1 and owner <> '' limit ?3) union all ") +
                     // lab: owned-shares
                     "select * from (select type, id, 1 from lock_shares where owner = ?1 and "
                     "owner <> '' limit ?3)"},
      owner_below_{db,
                   sql_text("select * from (select type, id, ended not in ({endings}) from locks "
                            "where owner >= ?1 and owner < ?2 and owner <> '' limit ?3) union all "
                            "select * from (select type, id, 1 from lock_shares "
                            "where owner >= ?1 and owner < ?2 and owner <> '' limit ?3)")},
      scan_{db,
            "select type, id, expiration_time from locks where (type, id) > (?1, ?2) "
            "order by type, id"},
      place_{db,
             "select * from (select type, id from locks where (type, id) > (?1, ?2) "
             "order by type, id limit 1 offset ?3) union all "
             "select * from (select type, id from lock_shares where (type, id) > (?1, ?2) "
             "order by type, id limit 1 offset ?3) order by 1, 2 limit 1"},
      floor_{db,
             "select value, (select value from leasehold where name = 'schema') from leasehold "
             "where name = 'time_floor'"},
      insert_{db, "insert into locks (" + names_of(lock_columns) + ", past, type, id) values (" +
                      parameters(lock_columns, 1) + ", " + parameter_after(lock_columns) + ", " +
                      parameter_after(lock_columns, 2) + ", " + parameter_after(lock_columns, 3) +
                      ")"},
      update_{db, "update locks set " + assignments(lock_columns, 1) +
                      ", past = " + parameter_after(lock_columns) +
                      " where rowid = " + parameter_after(lock_columns, 2)},
      touch_{db, "update locks set " + assignments(changing_columns, 1) +
                     ", past = " + parameter_after(changing_columns) +
                     " where rowid = " + parameter_after(changing_columns, 2)},
      erase_{db, "delete from locks where rowid = ?1"},
      write_share_{
          db, "insert into lock_shares (type, id, " + names_of(share_columns) +
                  ") values (?1, ?2, " + parameters(share_columns, 3) +
                  ") on conflict (type, id, lockid) do update set " +
                  listed(public_columns,
                         [](const std::string& name) { return name + " = excluded." + name; })},
      erase_share_{db, "delete from lock_shares where type = ?1 and id = ?2 and lockid = ?3"},
      add_history_{db, "insert into lock_history (" + names_of(history_columns) +
                           ", type, id, past, seq) values (" + parameters(history_columns, 1) +
                           ", " + parameter_after(history_columns) + ", " +
                           parameter_after(history_columns, 2) + ", " +
                           parameter_after(history_columns, 3) + ", max(" +
                           parameter_after(history_columns, 4) +
                           ", 1 + ifnull((select max(seq) from lock_history), 0)))"},
      raise_floor_{db, "update leasehold set value = max(value, ?1) where name = 'time_floor'"},
      forget_history_{
          db,
          "delete from lock_history where seq in (select seq from (select seq, ended_at "
          "from lock_history order by seq limit ?2) where ended_at < ?1)"} {}

Known Rows::find(const LockKey& key) {
    const Resetting at_end{find_};
    if (!find_.bind(1, key.type()).bind(2, key.id()).step()) return {};
    Known known{.row = lock_row_at(find_, 0),
                .rowid = find_.integer(count_of(lock_columns)),
                .past = find_.integer(count_of(lock_columns) + 1)};
    if (known.row.mode == Mode::shared) known.shares = shares(key);
    return known;
}

std::vector<Grant> Rows::shares(const LockKey& key) {
    const Resetting at_end{shares_};
    shares_.bind(1, key.type()).bind(2, key.id());
    std::vector<Grant> grants;
    while (shares_.step()) grants.push_back(share_at(shares_, 0));
    return grants;
}

std::optional<Ended> Rows::find_past(LockId lock_id) {
    const std::string text = lock_id.to_string();
    const Resetting at_end{past_};
    if (!past_.bind(1, text).step()) return std::nullopt;
    return ended_at(past_, 0);
}

std::optional<LockKey> Rows::locate(LockId lock_id) {
    const Snapshot one = snapshot();
    const std::string text = lock_id.to_string();
    const Resetting at_end{locate_};
    if (!locate_.bind(1, text).step()) return std::nullopt;
    return key_at(locate_, 0);
}

OwnedKeys Rows::keys_of(const std::string& owner, OwnerScope scope, std::size_t most) {
    const Snapshot one = snapshot();
    const auto one_more = static_cast<std::int64_t>(most) + 1;
    OwnedKeys owned;
    {
        const Resetting at_end{owner_};
        owner_.bind(1, owner).bind(3, one_more);
        take_keys(owner_, owned);
    }
    if (scope == OwnerScope::below) {
        const PathRange range{owner};
        const Resetting at_end{owner_below_};
        owner_below_.bind(1, range.from).bind(2, range.before).bind(3, one_more);
        take_keys(owner_below_, owned);
    }
    sort_and_unite(owned.keys);
    return owned;
}

std::vector<std::pair<LockKey, Time>> Rows::scan(const std::optional<LockKey>& after,
                                                 std::size_t limit) {
    const Snapshot one = snapshot();
    const Resetting at_end{scan_};
    scan_.bind(1, after ? std::string_view{after->type()} : "")
        .bind(2, after ? std::string_view{after->id()} : "");
    std::vector<std::pair<LockKey, Time>> keys;
    while (keys.size() < limit && scan_.step()) {
        if (auto key = key_at(scan_, 0)) {
            keys.emplace_back(*std::move(key), time_from(scan_.integer(2)));
        }
    }
    return keys;
}

std::optional<KeyPlace> Rows::place_behind(const KeyPlace& place, std::size_t rows) {
    const Snapshot one = snapshot();
    const Resetting at_end{place_};
    place_.bind(1, place.type).bind(2, place.id).bind(3, static_cast<std::int64_t>(rows) - 1);
    if (!place_.step()) return std::nullopt;
    return KeyPlace{place_.text(0), place_.text(1)};
}

std::vector<Holder> Rows::list(const List& request, Time now, const KeyPlace& until) {
    const Snapshot one = snapshot();
    // Lists are rare, so the statement is prepared only when it is needed. The unary plus keeps
    // SQLite from looking through all leases of the owner.
    std::string where =
        " and expiration_time > ?1 and (type, id, fence) > (?2, ?3, ?4) and (type, id) <= (?9, "
        "?10)";
    if (request.type) where += " and type = ?5";
    if (request.owner) {
        where += request.scope == OwnerScope::exact
                     ? " and +owner = ?6"
                     : " and (+owner = ?6 or (+owner >= ?7 and +owner < ?8))";
    }
    const std::string columns = names_of(public_columns);
    Statement query{db_, "select type, id, " + columns +
                             sql_text(", mode, ended from locks where mode <> {shared} and "
                                      "ended not in ({endings})") +
                             where + " union all select type, id, " + columns +
                             sql_text(", {shared}, {not_ended} from lock_shares where true") +
                             where + " order by type, id, fence"};
    const PathRange range{request.owner.value_or("")};
    query.bind(1, micros(now))
        .bind(2, request.after ? std::string_view{request.after->key.type()} : "")
        .bind(3, request.after ? std::string_view{request.after->key.id()} : "")
        .bind(4, request.after ? request.after->fence : 0);
    query.bind(9, until.type).bind(10, until.id);
    if (request.type) query.bind(5, *request.type);
    if (request.owner) query.bind(6, *request.owner).bind(7, range.from).bind(8, range.before);
    std::vector<Holder> holders;
    while (holders.size() < request.limit && query.step()) {
        auto key = key_at(query, 0);
        if (!key) continue;
        holders.push_back(to_holder(*key, listed_at(query, 2)));
    }
    return holders;
}

std::vector<PastLease> Rows::history(const History& request) {
    const Snapshot one = snapshot();
    if (request.key) return history_of(*request.key, request);
    Statement query{db_, history_query("where seq < ?1 order by seq desc")};
    query.bind(1, request.before.value_or(INT64_MAX));
    std::vector<PastLease> page;
    while (page.size() < request.limit && query.step()) {
        if (auto ended = ended_at(query, 0))
            page.push_back(to_past(*ended, query.integer(seq_column)));
    }
    return page;
}

std::vector<PastLease> Rows::history_of(const LockKey& key, const History& request) {
    const std::int64_t before = request.before.value_or(INT64_MAX);
    std::vector<PastLease> page;
    // Continue from the last row of the page before, if it still exists.
    std::int64_t seq = request.before.value_or(0);
    bool began = false;
    // Only a sequence that is not of this key can be further away than a page's rows.
    for (std::size_t looked_at = 0; looked_at <= Limits::rows_looked_through + request.limit;
         ++looked_at) {
        const Resetting at_end{past_row_};
        const bool found = past_row_.bind(1, seq).step();
        const auto ended = found ? ended_at(past_row_, 0) : std::nullopt;
        if (!ended || ended->key != key) {
            if (began) return page;
            seq = find(key).past;
        } else {
            if (seq < before) page.push_back(to_past(*ended, seq));
            if (page.size() == request.limit) return page;
            const std::int64_t past = past_row_.integer(past_column);
            if (past >= seq) return page;
            seq = past;
        }
        began = true;
    }
    return page;
}

Rows::Snapshot Rows::snapshot() {
    return {.open = Resetting{floor_}, .floor = read_floor()};
}

Time Rows::read_floor() {
    const bool found = floor_.step();
    require_version("sqlite", found ? static_cast<std::size_t>(floor_.integer(1)) : 0, version_);
    return time_from(floor_.integer(0));
}

void Rows::write(const Slot& slot, Known& known) {
    LockRow row = row_of(slot);  // lab: written-row
    const LockRow& before = known.row;
    auto prolonged = static_cast<const Grant&>(before);
    prolonged.expires_at = row.expires_at;
    const bool same_lease = known.rowid != 0 && prolonged == static_cast<const Grant&>(row);
    if (same_lease) {
        const int next = bind_columns(touch_, 1, changing_columns, row);
        touch_.bind(next, known.past).bind(next + 1, known.rowid).run();
    } else {
        Statement& statement = known.rowid == 0 ? insert_ : update_;
        const int next = bind_columns(statement, 1, lock_columns, row);
        statement.bind(next, known.past);
        if (known.rowid == 0) {
            insert_.bind(next + 1, slot.key.type()).bind(next + 2, slot.key.id()).run();
            known.rowid = sqlite3_last_insert_rowid(db_);
        } else {
            update_.bind(next + 1, known.rowid).run();
        }
    }
    write_shares(slot);
    known.row = std::move(row);
    known.shares.clear();
    if (known.row.mode == Mode::shared) known.shares = slot.cell.grants;
}

void Rows::write_shares(const Slot& slot) {
    const ShareChanges shares = share_changes(slot);
    for (const LockId& removed : shares.removed) {  // lab: removed-share
        const std::string id = removed.to_string();
        erase_share_.bind(1, slot.key.type()).bind(2, slot.key.id()).bind(3, id).run();
    }
    for (const Grant* grant : shares.written) {
        write_share_.bind(1, slot.key.type()).bind(2, slot.key.id());
        bind_columns(write_share_, 3, share_columns, *grant);
        write_share_.run();
    }
}

void Rows::erase(const Slot& slot, Known& known) {
    erase_.bind(1, known.rowid).run();
    write_shares(slot);
    known = {};
}

void Rows::add_to_history(const Ended& ended, Known& known) {
    const int next = bind_columns(add_history_, 1, history_columns, *ended.ending);
    add_history_.bind(next, ended.key.type())
        .bind(next + 1, ended.key.id())
        .bind(next + 2, known.past)
        .bind(next + 3, micros(ended.ending->at))
        .run();
    known.past = sqlite3_last_insert_rowid(db_);
}

void Rows::raise_floor(Time floor) {
    raise_floor_.bind(1, micros(floor)).run();
}

std::size_t Rows::forget_history(Time before, std::size_t limit) {
    const Snapshot one = snapshot();
    forget_history_.bind(1, micros(before)).bind(2, static_cast<std::int64_t>(limit)).run();
    return static_cast<std::size_t>(sqlite3_changes(db_));
}

}  // namespace leasehold::sqlite
