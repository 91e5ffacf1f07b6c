// How a cell store forgets leases that ended long ago.
#include "core/cell_store.hpp"

#include <cstddef>
#include <iterator>
#include <utility>

#include "core/columns.hpp"

namespace leasehold {
namespace {

// One round of housekeeping looks at this many keys, a few at a time: a request that arrives during
// a piece waits for the end of the piece.
constexpr std::size_t housekeeping_rows = 500;
constexpr std::size_t housekeeping_piece = 50;

}  // namespace

Outcome CellStore::answer(const Purge& request) {
    const Time at = now();
    const Time moment = at - options_.retention;
    const std::vector<Candidate> candidates = scan(purge_after_, request.rows, moment);

    Purged purged;
    std::size_t endings = 0;
    try {
        purged.forgotten = forget_dead(candidates, moment);
        endings = forget_history(moment, request.rows);
    } catch (const Conflict&) {
        rollback();  // other transactions use these rows; the next purge finds what is left
    }
    purged.forgotten += endings;
    const bool last_keys = candidates.size() < request.rows;
    purged.complete = last_keys && endings < request.rows;
    if (last_keys) {
        purge_after_.reset();
    } else {
        purge_after_ = candidates.back().key;
    }
    return purged;
}

std::size_t CellStore::forget_dead(const std::vector<Candidate>& candidates, Time moment) {
    std::size_t forgotten = 0;
    Work work;
    for (const Candidate& candidate : candidates) {
        if (!candidate.dead) continue;
        work.slots.push_back({.key = candidate.key, .intent = Slot::Intent::change});
        if (work.slots.size() >= bounds_.lookups) {
            forgotten += forget_dead_in_parts(std::exchange(work, {}), moment);
        }
    }
    return forgotten + forget_dead_in_parts(std::move(work), moment);
}

std::size_t CellStore::forget_dead_in_parts(Work work, Time moment) {
    try {
        return forget_dead(work, moment);
    } catch (const TooMuch&) {
        rollback();
    } catch (const UnreadableRow&) {
        rollback();
    }
    if (work.slots.size() == 1) return 0;
    const auto middle = work.slots.begin() + static_cast<std::ptrdiff_t>(work.slots.size() / 2);
    Work rest;
    rest.slots.assign(std::move_iterator{middle}, std::move_iterator{work.slots.end()});
    work.slots.erase(middle, work.slots.end());
    return forget_dead_in_parts(std::move(work), moment) +
           forget_dead_in_parts(std::move(rest), moment);
}

std::size_t CellStore::forget_dead(Work work, Time moment) {
    if (begin() != Begun::writing) return 0;
    const Time at = load_and_observe(work, Locking::yes);
    const PastLookup no_past = [](LockId) { return std::nullopt; };
    Rules rules{at, clock_, no_past, work.endings};
    std::size_t forgotten = 0;
    for (Slot& slot : work.slots) {
        if (slot.state != Slot::State::ours) continue;
        slot.forget = rules.end_if_dead_since(slot.key, slot.cell, moment);
        if (slot.forget) ++forgotten;
    }
    // A lease that ended before the retention began is not written to the history.
    std::erase_if(work.endings, [&](const Ended& ended) {
        return !keeps_history() || ended.ending->at < moment;
    });
    work.raise_floor_to = at;
    save_and_commit(work);
    return forgotten;
}

bool CellStore::keep_house() noexcept {
    try {
        const auto purged = std::get<Purged>(answer(Purge{housekeeping_piece}));
        housekeeping_done_ += housekeeping_piece;
        if (!purged.complete && housekeeping_done_ < housekeeping_rows) return true;
    } catch (...) {
        // Nobody asked for it. If the fault lasts, the next request meets it.
        rollback();
    }
    housekeeping_done_ = 0;
    return false;
}

}  // namespace leasehold
