#include "core/cell_store.hpp"

#include <algorithm>
#include <ranges>
#include <type_traits>
#include <utility>

#include "core/decisions.hpp"

namespace leasehold {
namespace {

// How much time at most a process that comes later can lack of what was used.
constexpr std::chrono::seconds floor_interval{1};

bool is_for_cells(const Request& request) {
    return std::visit([]<class R>(const R&) { return works_on_cells<R>; }, request);
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
            } else if constexpr (std::is_same_v<R, Extend>) {
                return r.key && r.max_ttl != until_released ? &*r.key : nullptr;
            } else if constexpr (std::is_same_v<R, Check>) {
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
        apply_in_runs({requests, outcomes});
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
void CellStore::apply_in_runs(Batch batch) {
    Indices run;
    std::size_t names = 0;
    for (std::size_t i = 0; i < batch.requests.size(); ++i) {
        const Request& request = batch.requests[i];
        if (is_for_cells(request)) {
            const std::size_t more = names_of(request);
            if (more > bounds_.names - std::min(names, bounds_.names)) {
                apply_to_cells(batch, std::exchange(run, {}));
                names = 0;
            }
            run.push_back(i);
            names += more;
            continue;
        }
        apply_to_cells(batch, std::exchange(run, {}));
        names = 0;
        batch.outcomes[i] = std::visit(
            [this]<class R>(const R& r) -> Outcome {
                if constexpr (works_on_cells<R>) {
                    return {};
                } else {
                    return answer(r);
                }
            },
            request);
    }
    apply_to_cells(batch, std::move(run));
}

void CellStore::apply_to_cells(Batch batch, Indices which) {
    take_shortcut(batch, which);
    if (which.empty()) return;
    switch (attempt(batch, which, bounds_.attempts)) {
        case Attempted::done: return ask_again_what_stood_in_the_way(batch, which);
        case Attempted::met_conflicts: return apply_one_by_one(batch, which);
        case Attempted::too_much: return apply_in_parts(batch, which);
    }
}

CellStore::Attempted CellStore::attempt(Batch batch, const Indices& which, int times) {
    for (int i = 0; i < times; ++i) {
        try {
            transact(batch, which, Way::full);
            return Attempted::done;
        } catch (const Conflict&) {
            rollback();
        } catch (const TooMuch&) {
            rollback();
            return Attempted::too_much;
        }
    }
    return Attempted::met_conflicts;
}

// A row may have been locked for a moment only, by another server that was just taking it.
void CellStore::ask_again_what_stood_in_the_way(Batch batch, const Indices& which) {
    Indices again;
    for (const std::size_t index : which) {
        if (stood_in_the_way(batch.outcomes[index])) again.push_back(index);
    }
    if (again.empty()) return;
    // Unanswered while they are asked again: a fault must reach them.
    std::vector<Outcome> first;
    for (const std::size_t index : again) {
        first.push_back(std::exchange(batch.outcomes[index], {}));
    }
    switch (attempt(batch, again, 1)) {
        case Attempted::done: return;
        case Attempted::met_conflicts:
            for (std::size_t i = 0; i < again.size(); ++i) {
                batch.outcomes[again[i]] = std::move(first[i]);
            }
            return;
        case Attempted::too_much: return apply_in_parts(batch, again);
    }
}

void CellStore::apply_one_by_one(Batch batch, const Indices& which) {
    if (which.size() > 1) {
        for (const std::size_t index : which) apply_to_cells(batch, {index});
        return;
    }
    Refusal busy;
    busy.kind = Refusal::Kind::busy;
    busy.store_now = now();
    batch.outcomes[which.front()] = std::move(busy);
}

void CellStore::apply_in_parts(Batch batch, const Indices& which) {
    if (which.size() > 1) {
        const auto middle = which.begin() + static_cast<std::ptrdiff_t>(which.size() / 2);
        apply_to_cells(batch, {which.begin(), middle});
        apply_to_cells(batch, {middle, which.end()});
        return;
    }
    const auto* all = std::get_if<ReleaseAll>(&batch.requests[which.front()]);
    batch.outcomes[which.front()] =
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
        apply_in_runs({parts, told});
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

void CellStore::end_unchanged(Work& /*work*/) {
    rollback();
}

bool CellStore::shortcut(std::span<const Request> /*requests*/,
                         std::span<const std::size_t> /*which*/, std::span<Outcome> /*outcomes*/) {
    return false;
}

void CellStore::take_shortcut(Batch batch, Indices& which) {
    // Only the first request on a key, and none after one whose keys are not known yet: the order
    // of requests on one key must stay.
    const auto key_of = [&](std::size_t index) -> const LockKey& {
        return *shortcut_key(batch.requests[index]);
    };
    Indices eligible;
    for (const std::size_t index : which) {
        if (shortcut_key(batch.requests[index]) == nullptr) break;
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
    const auto answered = [&](std::size_t index) { return batch.answered(index); };
    try {
        if (!shortcut(batch.requests, eligible, batch.outcomes)) return;
        std::erase_if(which, answered);
        if (which.empty()) return;
        // Most of the others are refused, which takes no lock.
        transact(batch, which, Way::read_only);
    } catch (const Conflict&) {
        rollback();
    }
    std::erase_if(which, answered);
}

void CellStore::transact(Batch batch, const Indices& which, Way way) {
    Plan plan = planned(batch.requests, which);
    Work work = plan.lay_out();
    const bool writing = way == Way::full && plan.writes() && begin() == Begun::writing;
    const Time at = load_and_observe(work, writing ? Locking::yes : Locking::no);
    std::vector<Outcome> decided = decide(batch.requests, plan, work, at, way);
    const bool changed =
        std::ranges::any_of(work.slots, [](const Slot& slot) { return slot.cell.changed; });
    if (changed) {
        if (!keeps_history()) work.endings.clear();  // lab: history
        save_and_commit(work);                       // lab: commit
        keep_floor(at);
    } else if (writing) {
        end_unchanged(work);
    }
    for (std::size_t i = 0; i < plan.size(); ++i) {
        batch.outcomes[plan.index(i)] = std::move(decided[i]);
    }
}

Plan CellStore::planned(std::span<const Request> requests, const Indices& which) {
    const std::vector<LockId> ids = ids_to_locate(requests, which);
    Plan plan{ids.empty() ? std::nullopt : std::optional{locate(ids)},
              [this](const std::string& owner, OwnerScope scope) { return keys_of(owner, scope); }};
    for (const std::size_t index : which) plan.add(index, requests[index]);
    return plan;
}

std::vector<Outcome> CellStore::decide(std::span<const Request> requests, const Plan& plan,
                                       Work& work, Time at, Way way) const {
    Decisions decisions{work, at, clock_};
    std::vector<Outcome> decided;
    decided.reserve(plan.size());
    for (std::size_t i = 0; i < plan.size(); ++i) {
        const Request& request = requests[plan.index(i)];
        if (plan.located() && decisions.uses_anothers_id(request, *plan.located())) {
            decided.emplace_back(id_of_another_key());
            continue;
        }
        std::optional<Outcome> outcome = decisions.decide(request, plan.slots(i));
        if (!outcome && way == Way::full) outcome = decisions.blocked(request, plan.slots(i));
        decided.push_back(outcome ? *std::move(outcome) : Outcome{});
    }
    return decided;
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
    if (asks_for_unnoticed(request)) {
        Work work;
        work.slots.push_back({.key = *request.key});
        const Time at = load_and_observe(work, Locking::no);
        const PastLookup no_past = [](LockId) { return std::nullopt; };
        page = Rules{at, clock_, no_past, work.endings}.unnoticed(request, work.slots.front().cell);
    }
    for (PastLease& past : history(request, now() - options_.retention)) {
        if (page.size() < request.limit) page.push_back(std::move(past));
    }
    return page;
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
