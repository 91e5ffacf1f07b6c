#include "core/cell_store.hpp"

#include <algorithm>
#include <ranges>
#include <set>
#include <type_traits>
#include <utility>

#include "core/columns.hpp"
#include "core/decisions.hpp"
#include "core/release_in_parts.hpp"
#include "core/request_traits.hpp"
#include "core/sizes.hpp"

namespace leasehold {
namespace {

// A process that starts later may miss at most this much of the time that was used.
constexpr std::chrono::seconds floor_interval{1};

// Whether another transaction, and no live lease, blocked the request.
bool was_blocked(const Outcome& outcome) {
    const auto* refusal = std::get_if<Refusal>(&outcome);
    if (refusal == nullptr) return false;
    if (refusal->kind == Refusal::Kind::busy) return true;
    return refusal->kind == Refusal::Kind::held &&
           std::ranges::all_of(refusal->holders, [&](const Holder& holder) {
               return holder.expires_at <= refusal->store_now;
           });
}

// Longer than any type that a key can have, of the last character that a text can have.
const std::string& last_type() {
    static const std::string text = [] {
        std::string last;
        while (last.size() <= Limits::type_bytes) last += "\U0010FFFF";
        return last;
    }();
    return text;
}

}  // namespace

CellStore::CellStore(const StoreOptions& options, Bounds bounds, std::shared_ptr<StoreClock> clock)
    : options_{options},
      shared_clock_{clock ? std::move(clock)
                          : std::make_shared<StoreClock>(options.max_clock_leap)},
      clock_{*shared_clock_},
      bounds_{bounds} {}

void CellStore::apply(std::span<const Request> requests, std::span<Outcome> outcomes) {
    apply_guarded({requests, outcomes}, &CellStore::apply_whole);
}

void CellStore::apply_first(std::span<const Request> requests, std::span<Outcome> outcomes) {
    apply_guarded({requests, outcomes}, &CellStore::apply_shortcut);
}

void CellStore::apply_rest(std::span<const Request> requests, std::span<Outcome> outcomes) {
    apply_guarded({requests, outcomes}, &CellStore::apply_after_shortcut);
}

void CellStore::apply_guarded(Batch batch, void (CellStore::*apply_all)(Batch batch)) {
    for (Outcome& outcome : batch.outcomes) outcome = {};
    try {
        (this->*apply_all)(batch);
    } catch (const Conflict&) {
        rollback();
        throw StoreFault{StoreFault::Effect::none, StoreFault::Cause::unavailable,
                         "the database kept reporting conflicts with other transactions"};
    } catch (...) {
        rollback();
        throw;
    }
}

StoreStatus CellStore::status() {
    const std::lock_guard lock{status_mutex_};
    return status_;
}

void CellStore::set_status(StoreStatus status) {
    const std::lock_guard lock{status_mutex_};
    status_ = std::move(status);
}

void CellStore::apply_in_runs(Batch batch, Shortcut tried) {
    Indices run;
    std::size_t names = 0;
    for (std::size_t i = 0; i < batch.requests.size(); ++i) {
        const Request& request = batch.requests[i];
        if (works_on_cells(kind_of(request))) {
            const std::size_t more = count_lookups(request);
            if (more > bounds_.lookups - std::min(names, bounds_.lookups)) {
                apply_to_cells(batch, std::exchange(run, {}), tried);
                names = 0;
            }
            run.push_back(i);
            names += more;
            continue;
        }
        apply_to_cells(batch, std::exchange(run, {}), tried);
        names = 0;
        batch.outcomes[i] = answer_alone(request);
    }
    apply_to_cells(batch, std::move(run), tried);
}

void CellStore::apply_to_cells(Batch batch, Indices which, Shortcut tried) {
    take_shortcut(batch, which, tried);
    if (which.empty()) return;
    switch (attempt(batch, which, bounds_.conflict)) {
        case Attempted::done: return retry_blocked(batch, which);
        case Attempted::met_conflicts:
        case Attempted::met_fault_of_one: return apply_one_by_one(batch, which);
        case Attempted::too_much: return apply_in_parts(batch, which);
    }
}

CellStore::Attempted CellStore::attempt(Batch batch, const Indices& which, RetryPolicy policy) {
    Retry retry{policy};
    do {
        try {
            transact(batch, which, Way::full);
            return Attempted::done;
        } catch (const Conflict&) {
            rollback();
        } catch (const TooMuch&) {
            rollback();
            return Attempted::too_much;
        } catch (const FaultOfOneRequest& fault) {
            rollback();
            if (which.size() > 1) return Attempted::met_fault_of_one;
            batch.outcomes[which.front()] = static_cast<const StoreFault&>(fault);
            return Attempted::done;
        }
    } while (retry.pause());
    return Attempted::met_conflicts;
}

// Another server may have locked the row for a moment only, while it took the key.
void CellStore::retry_blocked(Batch batch, const Indices& which) {
    Indices again;
    for (const std::size_t index : which) {
        if (was_blocked(batch.outcomes[index])) again.push_back(index);
    }
    if (again.empty()) return;
    // They count as unanswered while they are tried again, so that a fault reaches them.
    std::vector<Outcome> first;
    for (const std::size_t index : again) {
        first.push_back(std::exchange(batch.outcomes[index], {}));
    }
    switch (attempt(batch, again, {.attempts = 1})) {
        case Attempted::done: return;
        case Attempted::met_conflicts:
        case Attempted::met_fault_of_one:
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
                         "this request is too large for one transaction of the store"};
}

// After a fault some leases are released and some are not. The fault says so; asking again is safe.
Outcome CellStore::release_key_by_key(const ReleaseAll& all) {
    auto keys = keys_to_release(all.owner, all.scope);
    rollback();
    if (!keys) return too_many_leases();
    std::vector<Request> parts;
    for (LockKey& key : *keys) {
        ReleaseAll one = all;
        one.key = std::move(key);
        parts.emplace_back(std::move(one));
    }
    std::vector<Outcome> answers(parts.size());
    std::string problem;
    try {
        apply_in_runs({parts, answers}, Shortcut::tried);
    } catch (const StoreFault& fault) {
        rollback();
        problem = fault.what();
    } catch (const Conflict&) {
        rollback();
        problem = blocked_by_others;
    }
    std::vector<Lease> released;
    for (Outcome& outcome : answers) {
        if (auto* leases = std::get_if<std::vector<Lease>>(&outcome)) {
            std::ranges::move(*leases, std::back_inserter(released));
        } else if (problem.empty()) {
            problem = blocked_by_others;
        }
    }
    return released_in_parts(std::move(released), problem);
}

std::optional<std::vector<LockKey>> CellStore::keys_to_release(const std::string& owner,
                                                               OwnerScope scope) {
    OwnedKeys owned = keys_of(owner, scope, Limits::rows_looked_through);
    if (owned.rows > Limits::rows_looked_through || owned.keys.size() > Limits::released_at_once) {
        return std::nullopt;
    }
    return std::move(owned.keys);
}

void CellStore::end_unchanged(Work& /*work*/) {
    rollback();
}

bool CellStore::shortcut(std::span<const Request> /*requests*/,
                         std::span<const std::size_t> /*which*/, std::span<Outcome> /*outcomes*/) {
    return false;
}

void CellStore::apply_shortcut(Batch batch) {
    // Requests on one key keep their order. Requests that name no key are not ordered here.
    std::set<LockKey> passed_over;
    Indices eligible;
    for (std::size_t i = 0; i < batch.requests.size() && eligible.size() < bounds_.lookups; ++i) {
        const Request& request = batch.requests[i];
        const LockKey* const key = shortcut_key(request);
        if (key == nullptr) {
            if (const auto keys = leasehold::keys_of(request)) {
                passed_over.insert(keys->begin(), keys->end());
            }
        } else if (!passed_over.contains(*key)) {
            eligible.push_back(i);
        }
    }
    if (eligible.empty()) return;
    keep_first_on_each_key(batch, eligible);
    try {
        (void)shortcut(batch.requests, eligible, batch.outcomes);
    } catch (const Conflict&) {
        rollback();
    } catch (const FaultOfOneRequest&) {
        rollback();
    }
}

void CellStore::keep_first_on_each_key(Batch batch, Indices& which) {
    const auto key_of = [&](std::size_t index) -> const LockKey& {
        return *shortcut_key(batch.requests[index]);
    };
    // In the order of the keys, as everywhere, so that two stores never deadlock.
    std::ranges::sort(which, [&](std::size_t a, std::size_t b) {
        const auto by_key = key_of(a) <=> key_of(b);
        return by_key != 0 ? by_key < 0 : a < b;
    });
    const auto later = std::ranges::unique(which, {}, key_of);
    which.erase(later.begin(), later.end());
}

void CellStore::take_shortcut(Batch batch, Indices& which, Shortcut tried) {
    // Takes only the first request on each key, and nothing after a request whose keys are unknown,
    // so that requests on one key keep their order.
    Indices eligible;
    for (const std::size_t index : which) {
        if (shortcut_key(batch.requests[index]) == nullptr) break;
        eligible.push_back(index);
    }
    if (eligible.empty()) return;
    keep_first_on_each_key(batch, eligible);
    const auto answered = [&](std::size_t index) { return batch.answered(index); };
    try {
        if (tried == Shortcut::not_tried) {
            if (!shortcut(batch.requests, eligible, batch.outcomes)) return;
            std::erase_if(which, answered);
            if (which.empty()) return;
        }
        // Most of the others are refused, and a refusal needs no lock.
        transact(batch, which, Way::read_only);
    } catch (const Conflict&) {
        rollback();
    } catch (const FaultOfOneRequest&) {
        rollback();
    }
    std::erase_if(which, answered);
}

void CellStore::transact(Batch batch, const Indices& which, Way way) {
    Plan plan = planned(batch, which);
    if (plan.size() == 0) return rollback();
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

Plan CellStore::planned(Batch batch, const Indices& which) {
    const std::vector<LockId> ids = ids_to_locate(batch.requests, which);
    Plan plan{ids.empty() ? std::nullopt : std::optional{locate(ids)},
              [this](const std::string& owner, OwnerScope scope) {
                  return keys_to_release(owner, scope);
              }};
    for (const std::size_t index : which) {
        const bool fits = plan.add(index, batch.requests[index]);
        if (!fits) batch.outcomes[index] = too_many_leases();
    }
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
    const Asked asked = ask_now();
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
    const Asked asked = ask_now();
    return observe(read_clock(), asked);
}

CellStore::Asked CellStore::ask_now() {
    return {SteadyClock::now(), clock_.floor()};
}

// Another connection may have learnt a later time by now. It must not decide on rows that were read
// before that time: their leases may have been renewed since.
Time CellStore::observe(const ClockReading& reading, const Asked& asked) {
    clock_read_at_ = SteadyClock::now();
    clock_.observe(reading.clock, asked.at, clock_read_at_);
    clock_.at_least(reading.floor);
    return std::max({reading.clock, reading.floor, asked.floor});
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

Outcome CellStore::answer_alone(const Request& request) {
    try {
        return std::visit(
            [this]<class R>(const R& r) -> Outcome {
                if constexpr (works_on_cells(kind_of_type<R>)) {
                    return {};
                } else {
                    return answer(r);
                }
            },
            request);
    } catch (const UnreadableRow& fault) {
        rollback();
        return static_cast<const StoreFault&>(fault);
    }
}

Outcome CellStore::answer(const List& request) {
    if (request.owner && !request.owner->empty()) {
        OwnedKeys owned = keys_of(*request.owner, request.scope, Limits::rows_looked_through);
        rollback();  // no transaction relies on these keys
        if (owned.rows <= Limits::rows_looked_through) {
            return list_owned(request, std::move(owned.keys));
        }
    }
    // Most pages are full after few rows.
    const std::size_t few = 4 * request.limit;
    HolderPage page = list_within(request, std::min(few, Limits::rows_looked_through));
    if (page.cut && few < Limits::rows_looked_through) {
        page = list_within(request, Limits::rows_looked_through);
    }
    cut_to_size(page);
    return page;
}

HolderPage CellStore::list_within(const List& request, std::size_t rows) {
    const Time at = now();
    KeyPlace from;
    if (request.after) {
        from = {std::string{request.after->key.type()}, std::string{request.after->key.id()}};
    }
    if (request.type) from = std::max(from, KeyPlace{*request.type, {}});
    KeyPlace until{last_type(), {}};
    std::optional<LockKey> end;
    if (auto place = place_behind(from, rows)) {
        // No page can begin behind a key that is not valid; then this one looks at all rows.
        if (auto key = LockKey::parse(place->type, place->id)) {
            end = *std::move(key);
            until = *std::move(place);
        }
    }
    HolderPage page{.items = list(request, at, until), .store_now = at};
    const bool has_whole_type = request.type && until.type > *request.type;
    if (end && !has_whole_type && page.size() < request.limit) {
        page.cut = true;
        page.looked_up_to = Holder{.key = *end, .fence = highest_sequence};
    }
    return page;
}

HolderPage CellStore::list_owned(const List& request, std::vector<LockKey> keys) {
    std::erase_if(keys, [&](const LockKey& key) {
        return (request.type && key.type() != *request.type) ||
               (request.after && key < request.after->key);
    });
    const PastLookup no_past = [](LockId) { return std::nullopt; };
    HolderPage page;
    auto next = keys.begin();
    do {
        Work work;
        for (; next != keys.end() && work.slots.size() < std::min(request.limit, bounds_.lookups);
             ++next) {
            work.slots.push_back({.key = std::move(*next)});
        }
        page.store_now = load_and_observe(work, Locking::no);
        const Rules rules{page.store_now, clock_, no_past, work.endings};
        for (const Slot& slot : work.slots) {
            for (const Grant& grant : slot.cell.grants) {
                const bool before = request.after && request.after->key == slot.key &&
                                    grant.fence <= request.after->fence;
                if (before || page.size() == request.limit || !rules.is_alive(slot.cell, grant) ||
                    !owner_matches(grant.owner, *request.owner, request.scope)) {
                    continue;
                }
                page.items.push_back(to_holder(slot.key, grant));
            }
        }
    } while (next != keys.end() && page.size() < request.limit);
    cut_to_size(page);
    return page;
}

Outcome CellStore::answer(const History& request) {
    HistoryPage page;
    if (asks_for_unnoticed(request)) {
        Work work;
        work.slots.push_back({.key = *request.key});
        const Time at = load_and_observe(work, Locking::no);
        const PastLookup no_past = [](LockId) { return std::nullopt; };
        page.items =
            Rules{at, clock_, no_past, work.endings}.unnoticed(request, work.slots.front().cell);
    }
    page.store_now = now();
    const Time oldest = page.store_now - options_.retention;
    History rest = request;
    std::size_t looked_at = 0;
    for (bool more = true; more && page.size() < request.limit;) {
        std::vector<PastLease> rows = history(rest);
        more = rows.size() == rest.limit;
        looked_at += rows.size();
        for (PastLease& past : rows) {
            if (page.size() == request.limit) break;
            rest.before = past.sequence;
            if (past.ended_at >= oldest) page.items.push_back(std::move(past));
        }
        rest.limit = Limits::rows_looked_through - std::min(looked_at, Limits::rows_looked_through);
        if (more && rest.limit == 0 && page.size() < request.limit) {
            page.cut = true;
            const bool ends_with_item = !page.empty() && page.back().sequence == *rest.before;
            if (!ends_with_item) page.looked_up_to = std::move(rows.back());
            more = false;
        }
    }
    cut_to_size(page);
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
