#include "stores/mariadb/loading.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/schema.hpp"
#include "stores/mariadb/parts.hpp"
#include "stores/mariadb/rows.hpp"

namespace leasehold::mariadb {
namespace {

ResultSet query(Link& link, std::string_view sql) {
    return std::move(link.run(sql).front());
}

ClockReading reading_of(const Link& link, ResultSet clock, std::size_t version) {
    clock.next();
    require_version(link.dialect().name, static_cast<std::size_t>(clock.integer(2)), version);
    return {time_from(clock.integer(0)), time_from(clock.integer(1))};
}

Slot* find(Work& work, const ResultSet& rows) {
    const auto key = std::pair{rows.text(0), rows.text(1)};
    const auto slot = std::ranges::lower_bound(work.slots, key, {}, [](const Slot& s) {
        return std::pair{std::string_view{s.key.type()}, std::string_view{s.key.id()}};
    });
    const bool found =
        slot != work.slots.end() && slot->key.type() == key.first && slot->key.id() == key.second;
    return found ? &*slot : nullptr;
}

void take_locked(Work& work, ResultSet& rows) {
    while (rows.next()) {
        Slot* slot = find(work, rows);
        if (slot == nullptr) continue;
        slot->state = Slot::State::ours;
        slot->row = lock_row_at(rows, 2U);
    }
}

void take_read(Work& work, ResultSet& rows, Slot::State state = Slot::State::ours) {
    while (rows.next()) {
        Slot* slot = find(work, rows);
        if (slot == nullptr) continue;
        if (slot->state == Slot::State::missing) {
            slot->state = state;
            slot->row = lock_row_at(rows, 2U);
        }
        if (rows.is_null(first_share_column)) continue;
        Grant share = share_at(rows, first_share_column);
        const auto place = std::ranges::upper_bound(slot->shares, share.fence, {}, &Grant::fence);
        slot->shares.insert(place, std::move(share));
    }
}

void take_past(Work& work, ResultSet& rows) {
    while (rows.next()) {
        if (auto ended = ended_at(rows, 0U)) {
            const LockId id = ended->ending->grant.lock_id;
            work.past.emplace(id, *std::move(ended));
        }
    }
}

// A row that was to be locked and was not returned is missing, or another transaction has locked
// it.
void tell_missing_from_blocked(Link& link, Work& work, std::size_t version) {
    std::vector<const LockKey*> absent;
    for (const Slot& slot : work.slots) {
        if (slot.intent == Slot::Intent::change && slot.state == Slot::State::missing) {
            absent.push_back(&slot.key);
        }
    }
    if (absent.empty()) return;
    Script script;
    in_parts(absent, [&](Keys part) { script.add(select_with_shares(part)); });
    script.add(clock_query());
    std::vector<ResultSet> results = link.run(script);
    for (std::size_t i = 0; i + 1 < results.size(); ++i) {
        take_read(work, results[i], Slot::State::blocked);
    }
    work.reading = reading_of(link, std::move(results.back()), version);
}

// No other transaction changes the shares of a row that this one has locked.
void load_shares(Link& link, Work& work) {
    std::vector<const LockKey*> shared;
    for (const Slot& slot : work.slots) {
        if (slot.intent == Slot::Intent::change && slot.state == Slot::State::ours &&
            slot.row.mode == Mode::shared && slot.row.ended == Gone::unknown) {
            shared.push_back(&slot.key);
        }
    }
    in_parts(shared, [&](Keys part) {
        auto rows = query(link, select_shares(part));
        while (rows.next()) {
            if (Slot* slot = find(work, rows)) slot->shares.push_back(share_at(rows, 2U));
        }
    });
}

// The pasts of these lock ids, but not of leases that a slot has and keeps: a key that is free may
// get another lease in this transaction.
void load_past(Link& link, Work& work, std::span<const LockId> ids, LoadTo purpose) {
    std::vector<LockId> wanted;
    for (const LockId& id : ids) {
        const bool current = std::ranges::any_of(work.slots, [&](const Slot& slot) {
            const bool keeps = purpose == LoadTo::read || slot.row.ended == Gone::unknown;
            return (keeps && slot.row.lock_id == id) ||
                   std::ranges::find(slot.shares, id, &Grant::lock_id) != slot.shares.end();
        });
        if (!current) wanted.push_back(id);
    }
    in_parts(wanted, [&](std::span<const LockId> part) {
        auto rows = query(link, select_past(part));
        take_past(work, rows);
    });
}

}  // namespace

void load_rows(Link& link, Work& work, LoadTo purpose, std::size_t version) {
    const bool locking = purpose == LoadTo::change;
    std::vector<const LockKey*> to_lock;
    std::vector<const LockKey*> to_read;
    for (const Slot& slot : work.slots) {
        const bool lock = locking && slot.intent == Slot::Intent::change;
        (lock ? to_lock : to_read).push_back(&slot.key);
    }
    Script script;
    const std::string_view before_begin = link.dialect().before_begin;
    if (locking && !before_begin.empty()) script.add(before_begin);
    if (locking) script.add("start transaction");
    const std::size_t without_result = script.statements();
    in_parts(to_lock, [&](Keys part) { script.add(select_and_lock(link.dialect(), part)); });
    const std::size_t locked_results = script.statements() - without_result;
    in_parts(to_read, [&](Keys part) { script.add(select_with_shares(part)); });
    const std::size_t read_results = script.statements() - without_result;
    const std::span ids{work.lock_ids};
    if (locking) {
        in_parts(ids.first(work.brought_ids),
                 [&](std::span<const LockId> part) { script.add(select_past(part)); });
    }
    script.add(clock_query());

    std::vector<ResultSet> results = link.run(script);
    for (std::size_t i = 0; i + 1 < results.size(); ++i) {
        if (i < locked_results)
            take_locked(work, results[i]);
        else if (i < read_results)
            take_read(work, results[i]);
        else
            take_past(work, results[i]);
    }
    work.reading = reading_of(link, std::move(results.back()), version);

    if (locking) {
        tell_missing_from_blocked(link, work, version);
        load_shares(link, work);
        load_past(link, work, ids.subspan(work.brought_ids), purpose);
    } else {
        load_past(link, work, ids, purpose);
    }
}

ClockReading load_clock(Link& link, std::size_t version) {
    return reading_of(link, query(link, clock_query()), version);
}

ResultSet ask(Link& link, std::string_view sql, std::size_t version) {
    Script script;
    script.add(sql).add(clock_query());
    std::vector<ResultSet> results = link.run(script);
    (void)reading_of(link, std::move(results.back()), version);
    return std::move(results.front());
}

}  // namespace leasehold::mariadb
