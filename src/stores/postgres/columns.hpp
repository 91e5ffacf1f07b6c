#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/cell_store.hpp"
#include "core/columns.hpp"
#include "stores/postgres/connection.hpp"

// Rows of Leasehold's tables as PostgreSQL's parameters and answers.
namespace leasehold::postgres {

// The columns of many rows, side by side.
struct KeyColumns {
    void add(const LockKey& key) {
        types.emplace_back(key.type());
        ids.emplace_back(key.id());
    }
    std::vector<std::string> types, ids;
};

struct LockColumns : KeyColumns {
    void add(const LockKey& key, const LockRow& row) {
        KeyColumns::add(key);
        lock_ids.push_back(row.lock_id.to_string());
        expiries.push_back(row.expires_at);
        owners.push_back(row.owner);
        modes.push_back(number_of(row.mode));
        fences.push_back(row.fence);
        granted.push_back(row.granted_at);
        touched.push_back(row.touched_at);
        notes.push_back(row.note);
        ended.push_back(number_of(row.ended));
        ended_at.push_back(row.ended_at);
        ended_by.push_back(row.ended_by);
        ended_why.push_back(row.ended_why);
    }
    [[nodiscard]] Parameters parameters() const {
        Parameters p;
        p.texts(types).texts(ids).texts(lock_ids).times(expiries).texts(owners).integers(modes);
        p.integers(fences).times(granted).times(touched).texts(notes).integers(ended);
        p.times(ended_at).texts(ended_by).texts(ended_why);
        return p;
    }
    std::vector<std::string> lock_ids, owners, notes, ended_by, ended_why;
    std::vector<std::int64_t> modes, fences, ended;
    std::vector<Time> expiries, granted, touched, ended_at;
};

struct ShareColumns : KeyColumns {
    void add(const LockKey& key, const Grant& grant) {
        KeyColumns::add(key);
        lock_ids.push_back(grant.lock_id.to_string());
        expiries.push_back(grant.expires_at);
        owners.push_back(grant.owner);
        fences.push_back(grant.fence);
        granted.push_back(grant.granted_at);
        notes.push_back(grant.note);
    }
    [[nodiscard]] Parameters parameters() const {
        Parameters p;
        p.texts(types).texts(ids).texts(lock_ids).times(expiries).texts(owners).integers(fences);
        p.times(granted).texts(notes);
        return p;
    }
    std::vector<std::string> lock_ids, owners, notes;
    std::vector<std::int64_t> fences;
    std::vector<Time> expiries, granted;
};

struct HistoryColumns : KeyColumns {
    void add(const Ended& ended) {
        const Grant& grant = ended.ending->grant;
        KeyColumns::add(ended.key);
        lock_ids.push_back(grant.lock_id.to_string());
        owners.push_back(grant.owner);
        modes.push_back(number_of(grant.mode));
        fences.push_back(grant.fence);
        granted.push_back(grant.granted_at);
        expiries.push_back(grant.expires_at);
        how.push_back(number_of(ended.ending->how));
        at.push_back(ended.ending->at);
        by.push_back(ended.ending->by);
        why.push_back(ended.ending->why);
        notes.push_back(grant.note);
    }
    [[nodiscard]] Parameters parameters() const {
        Parameters p;
        p.texts(types).texts(ids).texts(lock_ids).texts(owners).integers(modes).integers(fences);
        p.times(granted).times(expiries).integers(how).times(at).texts(by).texts(why).texts(notes);
        return p;
    }
    std::vector<std::string> lock_ids, owners, by, why, notes;
    std::vector<std::int64_t> modes, fences, how;
    std::vector<Time> granted, expiries, at;
};

[[nodiscard]] inline LockKey key_at(const Rows& rows, int row, int column) {
    return {rows.text(row, column), rows.text(row, column + 1)};
}

// Twelve columns from `first` on, by default those of sql::read_rows.
[[nodiscard]] inline LockRow lock_row_at(const Rows& rows, int row, int first = 1) {
    return {{.lock_id = lock_id_from(rows.text(row, first)),
             .owner = std::string{rows.text(row, first + 2)},
             .mode = mode_from(rows.integer(row, first + 3)),
             .fence = rows.integer(row, first + 4),
             .granted_at = rows.time(row, first + 5),
             .expires_at = rows.time(row, first + 1),
             .note = std::string{rows.text(row, first + 7)}},
            rows.time(row, first + 6),
            gone_from(rows.integer(row, first + 8)),
            rows.time(row, first + 9),
            std::string{rows.text(row, first + 10)},
            std::string{rows.text(row, first + 11)}};
}

// Six columns from `first` on, where there is a share.
[[nodiscard]] inline Grant share_at(const Rows& rows, int row, int first = 13) {
    return {.lock_id = lock_id_from(rows.text(row, first)),
            .owner = std::string{rows.text(row, first + 2)},
            .mode = Mode::shared,
            .fence = rows.integer(row, first + 3),
            .granted_at = rows.time(row, first + 4),
            .expires_at = rows.time(row, first + 1),
            .note = std::string{rows.text(row, first + 5)}};
}

[[nodiscard]] inline Ended ended_at(const Rows& rows, int row) {
    return {key_at(rows, row, 0),
            {.grant = {.lock_id = lock_id_from(rows.text(row, 2)),
                       .owner = std::string{rows.text(row, 3)},
                       .mode = mode_from(rows.integer(row, 4)),
                       .fence = rows.integer(row, 5),
                       .granted_at = rows.time(row, 6),
                       .expires_at = rows.time(row, 7),
                       .note = std::string{rows.text(row, 12)}},
             .how = gone_from(rows.integer(row, 8)),
             .at = rows.time(row, 9),
             .by = std::string{rows.text(row, 10)},
             .why = std::string{rows.text(row, 11)}}};
}

[[nodiscard]] inline std::vector<std::string> texts_of(std::span<const LockId> lock_ids) {
    std::vector<std::string> texts;
    for (const LockId& id : lock_ids) texts.push_back(id.to_string());
    return texts;
}

}  // namespace leasehold::postgres
