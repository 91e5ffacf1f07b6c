#include "core/decisions.hpp"

#include <algorithm>
#include <ranges>
#include <variant>

#include "core/fresh_lock_id.hpp"

namespace leasehold {
namespace {

Outcome decide(Rules& rules, const Request& request, const std::vector<const LockKey*>& keys,
               const std::vector<Cell*>& cells) {
    return std::visit(
        [&]<class R>(const R& r) -> Outcome {
            if constexpr (std::is_same_v<R, TryLockAll>) {
                return rules.decide(r, cells);
            } else if constexpr (std::is_same_v<R, TryLock> || std::is_same_v<R, Break>) {
                return rules.decide(r, *cells.front());
            } else if constexpr (std::is_same_v<R, Holders>) {
                return rules.holders(r.key, *cells.front());
            } else if constexpr (std::is_same_v<R, ReleaseAll>) {
                std::vector<Lease> released;
                for (std::size_t i = 0; i < cells.size(); ++i) {
                    rules.release_all(r, *keys[i], *cells[i], released);
                }
                return released;
            } else if constexpr (works_on_cells(kind_of_type<R>)) {
                if (!cells.empty()) return rules.decide(r, *keys.front(), *cells.front());
                Refusal unknown;
                unknown.store_now = rules.now();
                return unknown;
            } else {
                return {};
            }
        },
        request);
}

}  // namespace

Decisions::Decisions(Work& work, Time now, const StoreClock& clock)
    : work_{work},
      past_{[&work](LockId id) -> std::optional<Ended> {
          for (const Ended& ended : work.endings | std::views::reverse) {
              if (ended.ending->grant.lock_id == id) return ended;
          }
          const auto found = work.past.find(id);
          return found != work.past.end() ? std::optional{found->second} : std::nullopt;
      }},
      rules_{now, clock, past_, work.endings},
      trial_{now, clock, past_, trial_endings_},
      undecided_(work.slots.size()) {}

std::optional<Outcome> Decisions::decide(const Request& request,
                                         std::span<const std::size_t> slots) {
    keys_.clear();
    cells_.clear();
    bool blocked = false;
    bool after_undecided = false;
    for (const std::size_t index : slots) {
        Slot& slot = work_.slots[index];
        keys_.push_back(&slot.key);
        cells_.push_back(&slot.cell);
        blocked = blocked || slot.state == Slot::State::blocked;
        after_undecided = after_undecided || undecided_[index];
    }
    if (!blocked) return leasehold::decide(rules_, request, keys_, cells_);

    // Very many may share a cell. It is copied only if the request may change it.
    std::vector<Cell> copies;
    copies.reserve(cells_.size());
    std::vector<Cell*> trial_cells;
    for (std::size_t i = 0; i < cells_.size(); ++i) {
        if (rules_.keeps_cell(request, i, *cells_[i])) {
            trial_cells.push_back(cells_[i]);
        } else {
            copies.push_back(*cells_[i]);
            copies.back().changed = false;
            trial_cells.push_back(&copies.back());
        }
    }
    Outcome outcome = leasehold::decide(trial_, request, keys_, trial_cells);
    if (!after_undecided && std::ranges::none_of(copies, &Cell::changed)) return outcome;
    for (const std::size_t index : slots) undecided_[index] = true;
    return std::nullopt;
}

bool Decisions::uses_anothers_id(const Request& request, const Located& located) const {
    return std::visit(
        [&]<class R>(const R& r) {
            if constexpr (AnyTry<R>) {
                const std::span<const TryLockId> ids = tried_ids(r);
                const std::span<const LockKey> keys = tried_keys(r);
                for (std::size_t i = 0; i < ids.size(); ++i) {
                    if (!FreshLockId::is_fresh(ids[i]) && is_elsewhere(ids[i], keys[i], located))
                        return true;
                }
            }
            return false;
        },
        request);
}

Outcome Decisions::blocked(const Request& request, std::span<const std::size_t> slots) const {
    const auto at = std::ranges::find_if(slots, [this](std::size_t index) {
        return work_.slots[index].state == Slot::State::blocked;
    });
    return rules_.blocked(request, work_.slots[*at].key, work_.slots[*at].cell);
}

bool Decisions::is_elsewhere(LockId id, const LockKey& key, const Located& located) const {
    const auto at = located.find(id);
    if (at == located.end() || at->second == key) return false;
    const auto slot = std::ranges::lower_bound(work_.slots, at->second, {}, &Slot::key);
    if (slot != work_.slots.end() && slot->key == at->second) {
        return std::ranges::find(slot->cell.grants, id, &Grant::lock_id) != slot->cell.grants.end();
    }
    return !past_(id).has_value();
}

}  // namespace leasehold
