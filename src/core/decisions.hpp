#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include <leasehold/store.hpp>

#include "core/plan.hpp"
#include "core/rules.hpp"
#include "core/store_clock.hpp"
#include "core/work.hpp"

namespace leasehold {

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
