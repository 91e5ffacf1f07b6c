#include "core/cell_store.hpp"

#include <algorithm>
#include <deque>
#include <ranges>
#include <type_traits>
#include <utility>

#include "core/columns.hpp"

namespace leasehold {
namespace {

constexpr std::chrono::minutes housekeeping_interval{1};
constexpr std::size_t housekeeping_rows = 500;
// How much time at most a process that comes later can lack of what was used.
constexpr std::chrono::seconds floor_interval{1};

template <class R>
constexpr bool works_on_cells =
    !std::is_same_v<R, List> && !std::is_same_v<R, History> && !std::is_same_v<R, Purge>;

bool is_for_cells(const Request& request) {
    return std::visit([]<class R>(const R&) { return works_on_cells<R>; }, request);
}

template <class R>
constexpr bool only_reads = std::is_same_v<R, Check> || std::is_same_v<R, Holders>;

using Located = std::unordered_map<LockId, LockKey>;

std::span<const LockId> tried_ids(const TryLock& request) {
    return {&request.lock_id, 1};
}
std::span<const LockId> tried_ids(const TryLockAll& request) {
    return request.lock_ids;
}
std::span<const LockKey> tried_keys(const TryLock& request) {
    return {&request.key, 1};
}
std::span<const LockKey> tried_keys(const TryLockAll& request) {
    return request.keys;
}

// How many keys and lock ids it names. Of an owner it is not known: few.
std::size_t names_of(const Request& request) {
    return std::visit(
        []<class R>(const R& r) -> std::size_t {
            if constexpr (requires { r.keys; }) {
                return r.keys.size() * (r.drawn == Drawn::before ? 2 : 1);
            } else if constexpr (requires { r.drawn; }) {
                return r.drawn == Drawn::before ? 2 : 1;
            } else if constexpr (requires { r.key.has_value(); }) {
                return r.key ? 1 : 2;
            } else {
                return 1;
            }
        },
        request);
}

// Which keys each request is about. The keys outlive this.
class Plan {
public:
    void add(std::size_t request, std::span<const LockKey> keys, Slot::Intent intent) {
        entries_.push_back({request, wanted_.size(), keys.size()});
        for (const LockKey& key : keys) wanted_.push_back({&key, intent, wanted_.size()});
    }

    // Fills `work.slots`, sorted and different.
    void lay_out(Work& work) {
        std::ranges::sort(wanted_, [](const Wanted& a, const Wanted& b) {
            return *a.key != *b.key ? *a.key < *b.key : a.intent > b.intent;
        });
        work.slots.reserve(wanted_.size());
        slots_.resize(wanted_.size());
        for (const auto& [key, intent, position] : wanted_) {
            if (work.slots.empty() || work.slots.back().key != *key) {
                work.slots.push_back({.key = *key, .intent = intent});
            }
            slots_[position] = work.slots.size() - 1;
        }
    }

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
            } else if constexpr (works_on_cells<R>) {
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

// The requests of one transaction, decided on its cells.
class Decisions {
public:
    Decisions(Work& work, Time now, const StoreClock& clock)
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

    // Nothing where a cell that is not ours would have to change: some answers need no lock, the
    // others must wait, and so must what comes after them on the same cell.
    [[nodiscard]] std::optional<Outcome> decide(const Request& request,
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

        std::vector<Cell> copies;
        for (const Cell* cell : cells_) copies.push_back(*cell);
        std::vector<Cell*> trial_cells;
        for (Cell& copy : copies) {
            copy.changed = false;
            trial_cells.push_back(&copy);
        }
        Outcome outcome = leasehold::decide(trial_, request, keys_, trial_cells);
        if (!after_undecided && std::ranges::none_of(copies, &Cell::changed)) return outcome;
        for (const std::size_t index : slots) undecided_[index] = true;
        return std::nullopt;
    }

    // Whether it is a try with a lock id that names a lease on another key. `located` knows where
    // the lock ids are that were drawn before.
    [[nodiscard]] bool uses_anothers_id(const Request& request, const Located& located) const {
        return std::visit(
            [&]<class R>(const R& r) {
                if constexpr (requires { r.drawn; }) {
                    const std::span<const LockId> ids = tried_ids(r);
                    const std::span<const LockKey> keys = tried_keys(r);
                    for (std::size_t i = 0; i < ids.size() && r.drawn == Drawn::before; ++i) {
                        if (is_elsewhere(ids[i], keys[i], located)) return true;
                    }
                }
                return false;
            },
            request);
    }

    // The answer to a request that could not be decided.
    [[nodiscard]] Outcome blocked(const Request& request,
                                  std::span<const std::size_t> slots) const {
        const auto at = std::ranges::find_if(slots, [this](std::size_t index) {
            return work_.slots[index].state == Slot::State::blocked;
        });
        return rules_.blocked(request, work_.slots[*at].key, work_.slots[*at].cell);
    }

private:
    [[nodiscard]] bool is_elsewhere(LockId id, const LockKey& key, const Located& located) const {
        const auto at = located.find(id);
        if (at == located.end() || at->second == key) return false;
        const auto slot = std::ranges::lower_bound(work_.slots, at->second, {}, &Slot::key);
        if (slot != work_.slots.end() && slot->key == at->second) {
            return std::ranges::find(slot->cell.grants, id, &Grant::lock_id) !=
                   slot->cell.grants.end();
        }
        return !past_(id).has_value();
    }

    Work& work_;
    PastLookup past_;
    std::vector<Ended> trial_endings_;
    Rules rules_;
    Rules trial_;
    std::vector<bool> undecided_;  // by slot
    std::vector<const LockKey*> keys_;
    std::vector<Cell*> cells_;
};

// The key of a request that a store may answer in one step, or nothing.
const LockKey* shortcut_key(const Request& request) {
    return std::visit(
        []<class R>(const R& r) -> const LockKey* {
            if constexpr (std::is_same_v<R, TryLock>) {
                const bool plain = r.mode == Mode::exclusive && !r.since && r.ttl != until_released;
                return plain ? &r.key : nullptr;
            } else if constexpr (std::is_same_v<R, Renew>) {
                return r.key && r.ttl != until_released ? &*r.key : nullptr;
            } else if constexpr (std::is_same_v<R, Release>) {
                return r.key && !r.if_expires_at ? &*r.key : nullptr;
            } else if constexpr (std::is_same_v<R, Check> || std::is_same_v<R, Extend>) {
                return r.key ? &*r.key : nullptr;
            } else {
                return nullptr;
            }
        },
        request);
}

// Whether somebody's transaction, and no lease that is alive, stood in the way.
bool stood_in_the_way(const Outcome& outcome) {
    const auto* refusal = std::get_if<Refusal>(&outcome);
    if (refusal == nullptr) return false;
    if (refusal->kind == Refusal::Kind::busy) return true;
    return refusal->kind == Refusal::Kind::held &&
           std::ranges::all_of(refusal->holders, [&](const Holder& holder) {
               return holder.until <= refusal->store_now;
           });
}

}  // namespace

CellStore::CellStore(const StoreOptions& options, Bounds bounds)
    : options_{options},
      clock_{options.max_clock_leap},
      bounds_{bounds},
      next_housekeeping_{SteadyClock::now() + housekeeping_interval} {}

void CellStore::apply(std::span<const Request> requests, std::span<Outcome> outcomes) {
    for (Outcome& outcome : outcomes) outcome = {};
    try {
        apply_in_runs(requests, outcomes);
    } catch (const Conflict&) {
        rollback();
        throw StoreFault{StoreFault::Effect::none, StoreFault::Cause::unavailable,
                         "the database kept reporting conflicts with other transactions"};
    } catch (...) {
        rollback();
        throw;
    }
    keep_house();
}

// What works on cells goes into common transactions; lists and the like stand between them.
void CellStore::apply_in_runs(std::span<const Request> requests, std::span<Outcome> outcomes) {
    Indices run;
    std::size_t names = 0;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        if (is_for_cells(requests[i])) {
            const std::size_t more = names_of(requests[i]);
            if (more > bounds_.names - std::min(names, bounds_.names)) {
                apply_to_cells(requests, outcomes, std::exchange(run, {}));
                names = 0;
            }
            run.push_back(i);
            names += more;
            continue;
        }
        apply_to_cells(requests, outcomes, std::exchange(run, {}));
        names = 0;
        outcomes[i] = std::visit(
            [this]<class R>(const R& request) -> Outcome {
                if constexpr (works_on_cells<R>) {
                    return {};
                } else {
                    return answer(request);
                }
            },
            requests[i]);
    }
    apply_to_cells(requests, outcomes, run);
}

void CellStore::apply_to_cells(std::span<const Request> requests, std::span<Outcome> outcomes,
                               const Indices& all) {
    Indices which = all;
    take_shortcut(requests, outcomes, which);
    if (which.empty()) return;

    bool settled = false;
    for (int i = 0; i < bounds_.attempts && !settled; ++i) {
        try {
            attempt(requests, outcomes, which, Way::full);
            settled = true;
        } catch (const Conflict&) {
            rollback();
        } catch (const TooMuch&) {
            rollback();
            return apply_in_parts(requests, outcomes, which);
        }
    }
    if (!settled) {
        if (which.size() > 1) {
            // One of them does not get through: it must not keep the others.
            for (const std::size_t index : which) apply_to_cells(requests, outcomes, {index});
            return;
        }
        outcomes[which.front()] = unsettled();
        return;
    }
    // A row may have been locked for a moment only, by another server that was just taking it.
    Indices again;
    for (const std::size_t index : which) {
        if (stood_in_the_way(outcomes[index])) again.push_back(index);
    }
    if (again.empty()) return;
    // Unanswered while they are asked again: a fault must reach them.
    std::vector<Outcome> first;
    for (const std::size_t index : again) first.push_back(std::exchange(outcomes[index], {}));
    try {
        attempt(requests, outcomes, again, Way::full);
    } catch (const Conflict&) {
        rollback();
        for (std::size_t i = 0; i < again.size(); ++i) outcomes[again[i]] = std::move(first[i]);
    } catch (const TooMuch&) {
        rollback();
        apply_in_parts(requests, outcomes, again);
    }
}

void CellStore::apply_in_parts(std::span<const Request> requests, std::span<Outcome> outcomes,
                               const Indices& which) {
    if (which.size() > 1) {
        const auto middle = which.begin() + static_cast<std::ptrdiff_t>(which.size() / 2);
        apply_to_cells(requests, outcomes, {which.begin(), middle});
        apply_to_cells(requests, outcomes, {middle, which.end()});
        return;
    }
    const auto* all = std::get_if<ReleaseAll>(&requests[which.front()]);
    outcomes[which.front()] =
        all != nullptr && !all->key
            ? release_key_by_key(*all)
            : StoreFault{StoreFault::Effect::none, StoreFault::Cause::internal,
                         "this is more than the store can do in one transaction"};
}

// Whoever is told of a fault must know that some are released, and may ask again.
Outcome CellStore::release_key_by_key(const ReleaseAll& all) {
    std::vector<Request> parts;
    for (LockKey& key : keys_of(all.owner, all.scope)) {
        parts.emplace_back(
            ReleaseAll{.owner = all.owner, .scope = all.scope, .key = std::move(key)});
    }
    rollback();
    std::vector<Outcome> told(parts.size());
    std::string problem;
    try {
        apply_in_runs(parts, told);
    } catch (const StoreFault& fault) {
        rollback();
        problem = fault.what();
    } catch (const Conflict&) {
        rollback();
        problem = "other transactions were in the way";
    }
    std::vector<Lease> released;
    for (Outcome& outcome : told) {
        if (auto* leases = std::get_if<std::vector<Lease>>(&outcome)) {
            std::ranges::move(*leases, std::back_inserter(released));
        } else if (problem.empty()) {
            problem = "other transactions were in the way";
        }
    }
    if (problem.empty()) return released;
    return StoreFault{StoreFault::Effect::unknown, StoreFault::Cause::unavailable,
                      std::to_string(released.size()) +
                          " leases were released, and perhaps not all of this owner's: " + problem};
}

Outcome CellStore::unsettled() {
    Refusal busy;
    busy.kind = Refusal::Kind::busy;
    busy.store_now = now();
    return busy;
}

void CellStore::end_unchanged(Work& /*work*/) {
    rollback();
}

bool CellStore::shortcut(std::span<const Request> /*requests*/,
                         std::span<const std::size_t> /*which*/, std::span<Outcome> /*outcomes*/) {
    return false;
}

void CellStore::take_shortcut(std::span<const Request> requests, std::span<Outcome> outcomes,
                              Indices& which) {
    // Only the first request on a key, and none after one whose keys are not known yet: the order
    // of requests on one key must stay.
    const auto key_of = [&](std::size_t index) -> const LockKey& {
        return *shortcut_key(requests[index]);
    };
    Indices eligible;
    for (const std::size_t index : which) {
        if (shortcut_key(requests[index]) == nullptr) break;
        eligible.push_back(index);
    }
    if (eligible.empty()) return;
    // In the order of keys, as everywhere: two stores that insert the same keys never deadlock.
    std::ranges::sort(eligible, [&](std::size_t a, std::size_t b) {
        const auto by_key = key_of(a) <=> key_of(b);
        return by_key != 0 ? by_key < 0 : a < b;
    });
    const auto later = std::ranges::unique(eligible, {}, key_of);
    eligible.erase(later.begin(), later.end());
    const auto answered = [&](std::size_t index) {
        return !std::holds_alternative<std::monostate>(outcomes[index]);
    };
    try {
        if (!shortcut(requests, eligible, outcomes)) return;
        std::erase_if(which, answered);
        if (which.empty()) return;
        // Most of the others are refused, which takes no lock.
        attempt(requests, outcomes, which, Way::read_only);
    } catch (const Conflict&) {
        rollback();
    }
    std::erase_if(which, answered);
}

void CellStore::attempt(std::span<const Request> requests, std::span<Outcome> outcomes,
                        const Indices& which, Way way) {
    // Requests that do not name their keys, and lock ids that may be those of other keys: find
    // them first.
    std::vector<LockId> to_locate;
    bool writes = false;
    for (const std::size_t index : which) {
        std::visit(
            [&]<class R>(const R& r) {
                writes = writes || !only_reads<R>;
                if constexpr (requires {
                                  r.key.has_value();
                                  r.lock_id;
                              }) {
                    if (!r.key) to_locate.push_back(r.lock_id);
                } else if constexpr (requires { r.drawn; }) {
                    if (r.drawn == Drawn::before) {
                        std::ranges::copy(tried_ids(r), std::back_inserter(to_locate));
                    }
                }
            },
            requests[index]);
    }
    Located located;
    if (!to_locate.empty()) located = locate(to_locate);

    Work work;
    Plan plan;
    std::deque<std::vector<LockKey>> owned;  // of owners
    // What is granted earlier in this batch cannot be found in the database yet.
    std::vector<std::pair<const LockKey*, const std::string*>> tried;
    for (const std::size_t index : which) {
        std::visit(
            [&]<class R>(const R& r) {
                const auto intent = only_reads<R> ? Slot::Intent::read : Slot::Intent::change;
                if constexpr (requires { r.keys; }) {
                    plan.add(index, r.keys, intent);
                    for (std::size_t i = 0; i < r.keys.size(); ++i) {
                        if (!to_locate.empty()) located.emplace(r.lock_ids[i], r.keys[i]);
                        tried.emplace_back(&r.keys[i], &r.owner);
                    }
                    if (r.drawn == Drawn::before) {
                        work.lock_ids.insert(work.lock_ids.end(), r.lock_ids.begin(),
                                             r.lock_ids.end());
                    }
                } else if constexpr (std::is_same_v<R, ReleaseAll>) {
                    std::vector<LockKey>& keys =
                        owned.emplace_back(r.key ? std::vector{*r.key} : keys_of(r.owner, r.scope));
                    for (const auto& [key, owner] : tried) {
                        if (!r.key && owner_matches(*owner, r.owner, r.scope)) keys.push_back(*key);
                    }
                    sort_and_unite(keys);
                    plan.add(index, keys, intent);
                } else if constexpr (requires {
                                         r.key.has_value();
                                         r.lock_id;
                                     }) {
                    work.lock_ids.push_back(r.lock_id);
                    const auto found = r.key ? located.end() : located.find(r.lock_id);
                    if (r.key)
                        plan.add(index, {&*r.key, 1}, intent);
                    else if (found != located.end())
                        plan.add(index, {&found->second, 1}, intent);
                    else
                        plan.add(index, {}, intent);
                } else if constexpr (works_on_cells<R>) {
                    plan.add(index, {&r.key, 1}, intent);
                    if constexpr (std::is_same_v<R, TryLock>) {
                        if (!to_locate.empty()) located.emplace(r.lock_id, r.key);
                        tried.emplace_back(&r.key, &r.owner);
                        if (r.drawn == Drawn::before) work.lock_ids.push_back(r.lock_id);
                    }
                }
            },
            requests[index]);
    }
    plan.lay_out(work);

    const bool writing = way == Way::full && writes && begin() == Begun::writing;
    const Time at = load_and_observe(work, writing ? Locking::yes : Locking::no);
    Decisions decisions{work, at, clock_};
    std::vector<Outcome> decided;
    decided.reserve(plan.size());
    for (std::size_t i = 0; i < plan.size(); ++i) {
        const Request& request = requests[plan.request(i)];
        std::optional<Outcome> outcome = decisions.uses_anothers_id(request, located)
                                             ? Outcome{id_of_another_key()}
                                             : decisions.decide(request, plan.slots(i));
        if (!outcome && way == Way::full) outcome = decisions.blocked(request, plan.slots(i));
        decided.push_back(outcome ? *std::move(outcome) : Outcome{});
    }
    const bool changed =
        std::ranges::any_of(work.slots, [](const Slot& slot) { return slot.cell.changed; });
    if (changed) {
        if (!keeps_history()) work.endings.clear();
        save_and_commit(work);
        keep_floor(at);
    } else if (writing) {
        end_unchanged(work);
    }
    for (std::size_t i = 0; i < plan.size(); ++i) {
        outcomes[plan.request(i)] = std::move(decided[i]);
    }
}

Time CellStore::load_and_observe(Work& work, Locking locking) {
    const auto asked = SteadyClock::now();
    load(work);
    for (Slot& slot : work.slots) {
        if (slot.state != Slot::State::missing) slot.cell = cell_of(slot.row, slot.shares);
        if (locking == Locking::no && slot.intent == Slot::Intent::change) {
            slot.state = Slot::State::blocked;
        }
    }
    for (const Slot& slot : work.slots) {
        if (slot.state == Slot::State::missing) continue;
        work.reading.floor = std::max(work.reading.floor, slot.row.touched_at);
    }
    return observe(work.reading, asked);
}

Time CellStore::now() {
    const auto asked = SteadyClock::now();
    return observe(read_clock(), asked);
}

Time CellStore::observe(const ClockReading& reading, SteadyClock::time_point asked) {
    clock_read_at_ = SteadyClock::now();
    clock_.observe(reading.clock, asked, clock_read_at_);
    clock_.at_least(reading.floor);
    return clock_.floor();
}

void CellStore::note_shortcut(Time floor, Time latest, SteadyClock::time_point asked,
                              Changed changed) {
    if (latest > floor) {
        clock_.observe(latest, asked, SteadyClock::now());
    } else if (SteadyClock::now() > clock_read_at_ + floor_interval) {
        // Only the floor was ever used: the database's clock may have been set back.
        (void)now();
    }
    if (changed == Changed::yes) keep_floor(clock_.floor());
}

void CellStore::keep_floor(Time now) {
    if (now < floor_raised_at_ + floor_interval) return;
    floor_raised_at_ = now;
    raise_floor(now);
}

Outcome CellStore::answer(const List& request) {
    return list(request, now());
}

Outcome CellStore::answer(const History& request) {
    std::vector<PastLease> page;
    if (request.key && !request.before) {
        Work work;
        work.slots.push_back({.key = *request.key});
        const Time at = load_and_observe(work, Locking::no);
        const PastLookup no_past = [](LockId) { return std::nullopt; };
        Rules{at, clock_, no_past, work.endings}.append_expired(*request.key,
                                                                work.slots.front().cell, page);
    }
    for (PastLease& past : history(request, now() - options_.retention)) {
        if (page.size() < request.limit) page.push_back(std::move(past));
    }
    return page;
}

Outcome CellStore::answer(const Purge& request) {
    const Time at = now();
    const Time moment = at - options_.retention;
    const std::vector<Candidate> candidates = scan(purge_after_, request.rows, moment);

    Purged purged;
    try {
        purged.forgotten = forget_dead(candidates, moment);
        purged.forgotten += forget_history(moment, request.rows);
    } catch (const Conflict&) {
        rollback();  // other transactions are at these rows; the next purge finds what is left
    }
    purged.complete = candidates.size() < request.rows;
    if (purged.complete) {
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
        if (work.slots.size() >= bounds_.names) {
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
    // What ended before the retention is not even written down.
    std::erase_if(work.endings, [&](const Ended& ended) {
        return !keeps_history() || ended.ending->at < moment;
    });
    work.raise_floor_to = at;
    save_and_commit(work);
    return forgotten;
}

void CellStore::keep_house() {
    if (SteadyClock::now() < next_housekeeping_) return;
    next_housekeeping_ = SteadyClock::now() + housekeeping_interval;
    try {
        (void)answer(Purge{housekeeping_rows});
    } catch (...) {
        // Nobody asked for it; the next request will meet the fault if it lasts.
        rollback();
    }
}

void require_durability(const StoreOptions& options, const StoreStatus& status) {
    if (options.require == StoreOptions::Require::any_durability ||
        status.durability == Durability::strong) {
        return;
    }
    std::string text =
        status.name + ": answered changes can be lost, and durability=strict was asked for";
    for (const std::string& warning : status.warnings) text += "; " + warning;
    throw StoreFault{StoreFault::Effect::none, StoreFault::Cause::configuration, text};
}

}  // namespace leasehold
