#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include <leasehold/store.hpp>

#include "core/rules.hpp"
#include "core/store_clock.hpp"
#include "core/work.hpp"

namespace leasehold {

template <class R>
constexpr bool works_on_cells =
    !std::is_same_v<R, List> && !std::is_same_v<R, History> && !std::is_same_v<R, Purge>;

using Located = std::unordered_map<LockId, LockKey>;

// Of a try.
inline std::span<const LockId> tried_ids(const TryLock& request) {
    return {&request.lock_id, 1};
}
inline std::span<const LockId> tried_ids(const TryLockAll& request) {
    return request.lock_ids;
}

// Which keys each request is about. The keys outlive this.
class Plan {
public:
    void add(std::size_t request, std::span<const LockKey> keys, Slot::Intent intent);

    // Fills `work.slots`, sorted and different.
    void lay_out(Work& work);

    [[nodiscard]] std::size_t size() const { return entries_.size(); }
    [[nodiscard]] std::size_t request(std::size_t entry) const { return entries_[entry].request; }
    // In Work::slots.
    [[nodiscard]] std::span<const std::size_t> slots(std::size_t entry) const {
        return std::span{slots_}.subspan(entries_[entry].first, entries_[entry].count);
    }

private:
    struct Entry {
        std::size_t request;
        std::size_t first;  // in slots_
        std::size_t count;
    };
    struct Wanted {
        const LockKey* key;
        Slot::Intent intent;
        std::size_t position;  // in slots_
    };
    std::vector<Entry> entries_;
    std::vector<Wanted> wanted_;
    std::vector<std::size_t> slots_;
};

// The requests of one transaction, decided on its cells.
class Decisions {
public:
    // Both outlive this.
    Decisions(Work& work, Time now, const StoreClock& clock);
    Decisions(const Decisions&) = delete;
    Decisions& operator=(const Decisions&) = delete;

    // Nothing where a cell that is not ours would have to change: some answers need no lock, the
    // others must wait, and so must what comes after them on the same cell.
    [[nodiscard]] std::optional<Outcome> decide(const Request& request,
                                                std::span<const std::size_t> slots);

    // Whether it is a try with a lock id that names a lease on another key. `located` knows where
    // the lock ids are that were drawn before.
    [[nodiscard]] bool uses_anothers_id(const Request& request, const Located& located) const;

    // The answer to a request that could not be decided.
    [[nodiscard]] Outcome blocked(const Request& request, std::span<const std::size_t> slots) const;

private:
    [[nodiscard]] bool is_elsewhere(LockId id, const LockKey& key, const Located& located) const;

    Work& work_;
    PastLookup past_;
    std::vector<Ended> trial_endings_;
    Rules rules_;
    Rules trial_;
    std::vector<bool> undecided_;  // by slot
    std::vector<const LockKey*> keys_;
    std::vector<Cell*> cells_;
};

}  // namespace leasehold
