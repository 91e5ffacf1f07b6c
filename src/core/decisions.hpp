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

// Decides the requests of one transaction on its cells.
class Decisions {
public:
    // Both outlive this.
    Decisions(Work& work, Time now, const StoreClock& clock);
    Decisions(const Decisions&) = delete;
    Decisions& operator=(const Decisions&) = delete;

    // Nothing if the request would have to change a cell that another transaction has locked. Later
    // requests on the same cells then get nothing either, because they must not overtake it.
    [[nodiscard]] std::optional<Outcome> decide(const Request& request,
                                                std::span<const std::size_t> slots);

    // Whether the request is a try with a lock id that names a lease on another key. `located` says
    // which keys the lock ids belong to.
    [[nodiscard]] bool uses_anothers_id(const Request& request, const Located& located) const;

    // The answer to a request for which decide() returned nothing.
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
