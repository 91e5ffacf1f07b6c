#include "stores/mariadb/saving.hpp"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "stores/mariadb/parts.hpp"
#include "stores/mariadb/rows.hpp"

namespace leasehold::mariadb {
namespace {

bool only_prolonged(const LockRow& before, const LockRow& after) {
    auto prolonged = static_cast<const Grant&>(before);
    prolonged.expires_at = after.expires_at;
    return after.ended == before.ended && prolonged == static_cast<const Grant&>(after);
}

// Whether the lease only ended: it is in the row as it was, but for its expiry.
bool only_ended(const LockRow& before, const LockRow& after) {
    auto ended = static_cast<const Grant&>(before);
    ended.expires_at = after.expires_at;
    return before.ended == Gone::unknown && after.ended != Gone::unknown &&
           ended == static_cast<const Grant&>(after);
}

auto state_of(const LockRow& row) {
    return std::tie(row.expires_at, row.touched_at, row.ended, row.ended_at, row.ended_by,
                    row.ended_why);
}

// Rows that have the same state now. One statement writes all of them.
struct Endings {
    LockRow row;
    std::vector<const LockKey*> keys;
};
constexpr std::size_t most_endings = 8;

// False if there are too many different ones.
bool add_to(std::vector<Endings>& endings, const KeyedRow& keyed) {
    auto same = std::ranges::find_if(
        endings, [&](const Endings& each) { return state_of(each.row) == state_of(keyed.row); });
    if (same == endings.end()) {
        if (endings.size() == most_endings) return false;
        same = endings.insert(same, {keyed.row, {}});
    }
    same->keys.push_back(keyed.key);
    return true;
}

}  // namespace

void write_changes(const Dialect& dialect, Duration zone, const Work& work,
                   const std::function<void(const std::string&)>& add) {
    std::vector<const LockKey*> forgotten;
    std::vector<KeyedRow> made;
    std::vector<KeyedRow> overwritten;
    std::vector<KeyedRow> prolonged;
    std::vector<Endings> ended;
    std::vector<KeyedId> ended_shares;
    std::vector<KeyedShare> made_shares;
    std::vector<KeyedShare> changed_shares;
    for (const Slot& slot : work.slots) {
        if (!slot.forget && !slot.cell.changed) continue;
        const ShareChanges changes = share_changes(slot);
        for (const LockId& id : changes.removed) ended_shares.push_back({&slot.key, id});
        if (slot.forget) {
            forgotten.push_back(&slot.key);
            continue;
        }
        for (const Grant* grant : changes.written) {
            const bool is_new = std::ranges::find(slot.shares, grant->lock_id, &Grant::lock_id) ==
                                slot.shares.end();
            (is_new ? made_shares : changed_shares).push_back({&slot.key, grant});
        }
        KeyedRow keyed{&slot.key, row_of(slot)};
        if (slot.state == Slot::State::missing)
            made.push_back(std::move(keyed));
        else if (only_prolonged(slot.row, keyed.row))
            prolonged.push_back(std::move(keyed));
        else if (!only_ended(slot.row, keyed.row) || !add_to(ended, keyed))
            overwritten.push_back(std::move(keyed));
    }
    // New rows first: if another transaction inserts one of them too, no other work is lost.
    const bool probing = dialect.no_wait == Dialect::NoWait::by_probe;
    in_parts(made, [&](std::span<const KeyedRow> part) {
        if (probing) {
            std::vector<const LockKey*> keys;
            for (const KeyedRow& row : part) keys.push_back(row.key);
            add(probe_rows(keys));
        }
        add(insert_rows(zone, part));
    });
    in_parts(overwritten, [&](auto part) { add(overwrite_rows(dialect, zone, part)); });
    in_parts(prolonged, [&](auto part) { add(prolong_rows(dialect, zone, part)); });
    for (const Endings& same : ended) {
        in_parts(same.keys, [&](Keys part) { add(end_rows(zone, same.row, part)); });
    }
    in_parts(forgotten, [&](Keys part) { add(delete_rows(part)); });
    in_parts(ended_shares, [&](auto part) { add(delete_shares(part)); });
    in_parts(made_shares, [&](auto part) { add(insert_shares(part)); });
    in_parts(changed_shares, [&](auto part) { add(write_shares(dialect, part)); });
    in_parts(work.endings,
             [&](auto part) { add(std::string{dialect.for_history} + add_to_history(part)); });
    if (work.raise_floor_to > Time{}) {
        if (probing) add(probe_floor());
        add(raise_floor(work.raise_floor_to));
    }
}

}  // namespace leasehold::mariadb
