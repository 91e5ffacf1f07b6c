#include "stores/sqlite/rows.hpp"

#include <sqlite3.h>

#include "core/columns.hpp"

namespace leasehold::sqlite {
namespace {

// Nothing where it cannot be a key: whoever shares the file may have written anything.
std::optional<LockKey> key_at(const Statement& row, int column) {
    auto key = LockKey::parse(row.text(column), row.text(column + 1));
    return key ? std::optional{*std::move(key)} : std::nullopt;
}

// Columns of a grant: lockid, expiration_time, owner, fence, granted_at, note.
Grant share_at(const Statement& row) {
    return {.lock_id = lock_id_from(row.text(0)),
            .owner = row.text(2),
            .mode = Mode::shared,
            .fence = row.integer(3),
            .granted_at = time_from(row.integer(4)),
            .expires_at = time_from(row.integer(1)),
            .note = row.text(5)};
}

constexpr std::string_view history_columns =
    "type, id, lockid, owner, mode, fence, granted_at, expiration_time, ended, ended_at, ended_by, "
    "ended_why, note, seq, past";
constexpr int seq_column = 13;
constexpr int past_column = 14;

std::optional<Ended> ended_at(const Statement& row) {
    auto key = key_at(row, 0);
    if (!key) return std::nullopt;
    return Ended{*std::move(key),
                 {.grant = {.lock_id = lock_id_from(row.text(2)),
                            .owner = row.text(3),
                            .mode = mode_from(row.integer(4)),
                            .fence = row.integer(5),
                            .granted_at = time_from(row.integer(6)),
                            .expires_at = time_from(row.integer(7)),
                            .note = row.text(12)},
                  .how = gone_from(row.integer(8)),
                  .at = time_from(row.integer(9)),
                  .by = row.text(10),
                  .why = row.text(11)}};
}

void take_keys(Statement& rows, std::vector<LockKey>& keys) {
    while (rows.step()) {
        if (auto key = key_at(rows, 0)) keys.push_back(*std::move(key));
    }
}

std::string history_query(std::string_view rest) {
    return "select " + std::string{history_columns} + " from lock_history " + std::string{rest};
}

}  // namespace

Rows::Rows(::sqlite3* db)
    : db_{db},
      find_{db,
            "select lockid, expiration_time, owner, mode, fence, granted_at, touched_at, note, "
            "ended, ended_at, ended_by, ended_why, rowid, past from locks where type = ?1 and id = "
            "?2"},
      shares_{db,
              "select lockid, expiration_time, owner, fence, granted_at, note from lock_shares "
              "where type = ?1 and id = ?2 order by fence"},
      past_{db, history_query("where lockid = ?1 order by seq desc limit 1")},
      past_row_{db, history_query("where seq = ?1")},
      locate_{db,
              "select type, id from locks where lockid = ?1 union all "
              "select type, id from lock_shares where lockid = ?1 union all "
              "select type, id from lock_history where lockid = ?1 limit 1"},
      owner_{db,
             "select type, id from locks where owner = ?1 and owner <> '' and ended = 0 union "
             // lab: owned-shares
             "select type, id from lock_shares where owner = ?1 and owner <> ''"},
      owner_below_{
          db,
          "select type, id from locks where owner >= ?1 and owner < ?2 and owner <> '' and "
          "ended = 0 union "
          "select type, id from lock_shares where owner >= ?1 and owner < ?2 and owner <> ''"},
      scan_{db,
            "select type, id, expiration_time from locks where (type, id) > (?1, ?2) "
            "order by type, id"},
      floor_{db, "select value from leasehold where name = 'time_floor'"},
      insert_{db,
              "insert into locks (lockid, expiration_time, owner, mode, fence, granted_at, "
              "touched_at, note, ended, ended_at, ended_by, ended_why, past, type, id) "
              "values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)"},
      update_{
          db,
          "update locks set lockid = ?1, expiration_time = ?2, owner = ?3, mode = ?4, fence = ?5, "
          "granted_at = ?6, touched_at = ?7, note = ?8, ended = ?9, ended_at = ?10, "
          "ended_by = ?11, ended_why = ?12, past = ?13 where rowid = ?14"},
      touch_{db,
             "update locks set expiration_time = ?1, touched_at = ?2, ended = ?3, ended_at = ?4, "
             "ended_by = ?5, ended_why = ?6, past = ?7 where rowid = ?8"},
      erase_{db, "delete from locks where rowid = ?1"},
      write_share_{db,
                   "insert into lock_shares (type, id, lockid, expiration_time, owner, fence, "
                   "granted_at, note) values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) on conflict (type, "
                   "id, lockid) do update set expiration_time = ?4, owner = ?5, fence = ?6, "
                   "granted_at = ?7, note = ?8"},
      erase_share_{db, "delete from lock_shares where type = ?1 and id = ?2 and lockid = ?3"},
      add_history_{db,
                   "insert into lock_history (type, id, lockid, owner, mode, fence, granted_at, "
                   "expiration_time, ended, ended_at, ended_by, ended_why, note, past, seq) "
                   "values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, "
                   "max(?10, 1 + ifnull((select max(seq) from lock_history), 0)))"},
      raise_floor_{db, "update leasehold set value = max(value, ?1) where name = 'time_floor'"},
      forget_history_{
          db,
          "delete from lock_history where seq in (select seq from (select seq, ended_at "
          "from lock_history order by seq limit ?2) where ended_at < ?1)"} {}

Known Rows::find(const LockKey& key) {
    const Resetting at_end{find_};
    if (!find_.bind(1, key.type()).bind(2, key.id()).step()) return {};
    Known known{.row = {{.lock_id = lock_id_from(find_.text(0)),
                         .owner = find_.text(2),
                         .mode = mode_from(find_.integer(3)),
                         .fence = find_.integer(4),
                         .granted_at = time_from(find_.integer(5)),
                         .expires_at = time_from(find_.integer(1)),
                         .note = find_.text(7)},
                        time_from(find_.integer(6)),
                        gone_from(find_.integer(8)),
                        time_from(find_.integer(9)),
                        find_.text(10),
                        find_.text(11)},
                .rowid = find_.integer(12),
                .past = find_.integer(13)};
    if (known.row.mode == Mode::shared) known.shares = shares(key);
    return known;
}

std::vector<Grant> Rows::shares(const LockKey& key) {
    const Resetting at_end{shares_};
    shares_.bind(1, key.type()).bind(2, key.id());
    std::vector<Grant> grants;
    while (shares_.step()) grants.push_back(share_at(shares_));
    return grants;
}

std::optional<Ended> Rows::find_past(LockId lock_id) {
    const std::string text = lock_id.to_string();
    const Resetting at_end{past_};
    if (!past_.bind(1, text).step()) return std::nullopt;
    return ended_at(past_);
}

std::optional<LockKey> Rows::locate(LockId lock_id) {
    const std::string text = lock_id.to_string();
    const Resetting at_end{locate_};
    if (!locate_.bind(1, text).step()) return std::nullopt;
    return key_at(locate_, 0);
}

std::vector<LockKey> Rows::keys_of(const std::string& owner, OwnerScope scope) {
    std::vector<LockKey> keys;
    {
        const Resetting at_end{owner_};
        owner_.bind(1, owner);
        take_keys(owner_, keys);
    }
    if (scope == OwnerScope::below) {
        const PathRange range{owner};
        const Resetting at_end{owner_below_};
        owner_below_.bind(1, range.from).bind(2, range.before);
        take_keys(owner_below_, keys);
    }
    sort_and_unite(keys);
    return keys;
}

std::vector<std::pair<LockKey, Time>> Rows::scan(const std::optional<LockKey>& after,
                                                 std::size_t limit) {
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

std::vector<Holder> Rows::list(const List& request, Time now) {
    // Asked for by people and consoles: prepared when it is needed.
    std::string where = " and expiration_time > ?1 and (type, id, fence) > (?2, ?3, ?4)";
    if (request.type) where += " and type = ?5";
    if (request.owner) {
        where += request.scope == OwnerScope::exact
                     ? " and owner = ?6"
                     : " and (owner = ?6 or (owner >= ?7 and owner < ?8))";
    }
    Statement query{db_,
                    "select type, id, owner, mode, fence, granted_at, expiration_time, note from "
                    "locks where mode = 0 and ended = 0" +
                        where +
                        " union all select type, id, owner, 1, fence, granted_at, expiration_time, "
                        "note from lock_shares where true" +
                        where + " order by 1, 2, 5"};
    const PathRange range{request.owner.value_or("")};
    query.bind(1, micros(now))
        .bind(2, request.after ? std::string_view{request.after->key.type()} : "")
        .bind(3, request.after ? std::string_view{request.after->key.id()} : "")
        .bind(4, request.after ? request.after->fence : 0);
    if (request.type) query.bind(5, *request.type);
    if (request.owner) query.bind(6, *request.owner).bind(7, range.from).bind(8, range.before);
    std::vector<Holder> holders;
    while (holders.size() < request.limit && query.step()) {
        auto key = key_at(query, 0);
        if (!key) continue;
        holders.push_back({.key = *std::move(key),
                           .owner = query.text(2),
                           .mode = mode_from(query.integer(3)),
                           .fence = query.integer(4),
                           .granted_at = time_from(query.integer(5)),
                           .expires_at = time_from(query.integer(6)),
                           .note = query.text(7)});
    }
    return holders;
}

std::vector<PastLease> Rows::history(const History& request, Time oldest) {
    if (request.key) return history_of(*request.key, request, oldest);
    Statement query{db_, history_query("where seq < ?1 and ended_at >= ?2 order by seq desc")};
    query.bind(1, request.before.value_or(INT64_MAX)).bind(2, micros(oldest));
    std::vector<PastLease> page;
    while (page.size() < request.limit && query.step()) {
        if (auto ended = ended_at(query))
            page.push_back(to_past(*ended, query.integer(seq_column)));
    }
    return page;
}

std::vector<PastLease> Rows::history_of(const LockKey& key, const History& request, Time oldest) {
    const Snapshot one = snapshot();
    const std::int64_t before = request.before.value_or(INT64_MAX);
    std::vector<PastLease> page;
    // From the last row of the page before, if it is still there.
    std::int64_t seq = request.before.value_or(0);
    bool began = false;
    for (;;) {
        const Resetting at_end{past_row_};
        const bool found = past_row_.bind(1, seq).step();
        const auto ended = found ? ended_at(past_row_) : std::nullopt;
        if (!ended || ended->key != key) {
            if (began) return page;
            seq = find(key).past;
        } else {
            if (seq < before && ended->ending->at >= oldest) page.push_back(to_past(*ended, seq));
            if (page.size() == request.limit) return page;
            const std::int64_t past = past_row_.integer(past_column);
            if (past >= seq) return page;
            seq = past;
        }
        began = true;
    }
}

Rows::Snapshot Rows::snapshot() {
    return {.open = Resetting{floor_},
            .floor = floor_.step() ? time_from(floor_.integer(0)) : Time{}};
}

void Rows::write(const Slot& slot, Known& known) {
    LockRow row = row_of(slot);  // lab: written-row
    const LockRow& before = known.row;
    const bool same_lease = known.rowid != 0 && row.lock_id == before.lock_id &&
                            row.mode == before.mode && row.fence == before.fence &&
                            row.granted_at == before.granted_at && row.owner == before.owner &&
                            row.note == before.note;
    if (same_lease) {
        // No index is concerned.
        touch_.bind(1, micros(row.expires_at))
            .bind(2, micros(row.touched_at))
            .bind(3, number_of(row.ended))
            .bind(4, micros(row.ended_at))
            .bind(5, row.ended_by)
            .bind(6, row.ended_why)
            .bind(7, known.past)
            .bind(8, known.rowid)
            .run();
    } else {
        const std::string lock_id = row.lock_id.to_string();
        Statement& statement = known.rowid == 0 ? insert_ : update_;
        statement.bind(1, lock_id)
            .bind(2, micros(row.expires_at))
            .bind(3, row.owner)
            .bind(4, number_of(row.mode))
            .bind(5, row.fence)
            .bind(6, micros(row.granted_at))
            .bind(7, micros(row.touched_at))
            .bind(8, row.note)
            .bind(9, number_of(row.ended))
            .bind(10, micros(row.ended_at))
            .bind(11, row.ended_by)
            .bind(12, row.ended_why)
            .bind(13, known.past);
        if (known.rowid == 0) {
            insert_.bind(14, slot.key.type()).bind(15, slot.key.id()).run();
            known.rowid = sqlite3_last_insert_rowid(db_);
        } else {
            update_.bind(14, known.rowid).run();
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
        const std::string id = grant->lock_id.to_string();
        write_share_.bind(1, slot.key.type())
            .bind(2, slot.key.id())
            .bind(3, id)
            .bind(4, micros(grant->expires_at))
            .bind(5, grant->owner)
            .bind(6, grant->fence)
            .bind(7, micros(grant->granted_at))
            .bind(8, grant->note)
            .run();
    }
}

void Rows::erase(const Slot& slot, Known& known) {
    erase_.bind(1, known.rowid).run();
    write_shares(slot);
    known = {};
}

void Rows::add_to_history(const Ended& ended, Known& known) {
    const Grant& grant = ended.ending->grant;
    const std::string lock_id = grant.lock_id.to_string();
    add_history_.bind(1, ended.key.type())
        .bind(2, ended.key.id())
        .bind(3, lock_id)
        .bind(4, grant.owner)
        .bind(5, number_of(grant.mode))
        .bind(6, grant.fence)
        .bind(7, micros(grant.granted_at))
        .bind(8, micros(grant.expires_at))
        .bind(9, number_of(ended.ending->how))
        .bind(10, micros(ended.ending->at))
        .bind(11, ended.ending->by)
        .bind(12, ended.ending->why)
        .bind(13, grant.note)
        .bind(14, known.past)
        .run();
    known.past = sqlite3_last_insert_rowid(db_);
}

void Rows::raise_floor(Time floor) {
    raise_floor_.bind(1, micros(floor)).run();
}

std::size_t Rows::forget_history(Time before, std::size_t limit) {
    forget_history_.bind(1, micros(before)).bind(2, static_cast<std::int64_t>(limit)).run();
    return static_cast<std::size_t>(sqlite3_changes(db_));
}

}  // namespace leasehold::sqlite
