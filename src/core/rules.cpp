#include "core/rules.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "core/fresh_lock_id.hpp"
#include "core/request_traits.hpp"
#include "core/sizes.hpp"

namespace leasehold {
namespace {

bool alive(const Grant& grant, Time now) {
    return now < grant.expires_at;
}

Fence fence_after(const Cell& cell, Time now) {
    return std::max<Fence>(cell.fence + 1, now.time_since_epoch().count());  // lab: next-fence
}

Time capped(Time wanted, const Grant& grant, const std::optional<Duration>& max_hold) {
    if (max_hold) wanted = std::min(wanted, grant.granted_at + *max_hold);
    return std::max(wanted, grant.expires_at);
}

// Whether a try in this owner's name and with this token id gets the lease back without knowing its
// lock id.
bool is_own(const Grant& grant, const std::string& owner, const std::string& token_id) {
    // lab: same-owner
    return !owner.empty() && grant.owner == owner && grant.token_id == token_id;
}

// How many leases can share the key at most.
std::size_t places_of(const AnyTry auto& request) {
    return request.places.value_or(Limits::shared_holders);
}

bool is_meant(const ReleaseAll& request, const LockKey& key, const Grant& grant) {
    if (!request.only_keys.has(key)) return false;
    // lab: release-all
    if (!owner_matches(grant.owner, request.owner, request.scope)) return false;
    return request.token_id.empty() ||
           owner_matches(grant.token_id, request.token_id, OwnerScope::below);
}

Outcome granted(const LockKey& key, const Grant& grant, Time store_now) {
    return to_lease(key, grant, store_now);
}

// The refusal of a key that all living grants hold.
Refusal held_by_all(const LockKey& key, const Cell& cell, Time now) {
    NamedHolders holders;
    for (const Grant& grant : cell.grants) {
        if (alive(grant, now)) holders.add(key, grant);
    }
    return std::move(holders).refusal(now);
}

Refusal gone_by(const Ending& ending, Time now) {
    Refusal refusal;
    refusal.reason = ending.how;
    refusal.by = ending.by;
    refusal.why = ending.why;
    refusal.store_now = now;
    return refusal;
}

Refusal gone_because(Gone reason, Time now) {
    Refusal refusal;
    refusal.reason = reason;
    refusal.store_now = now;
    return refusal;
}

StoreFault leap_fault() {
    return {
        StoreFault::Effect::none, StoreFault::Cause::clock_leap,
        "the store's clock leapt ahead: the lease on this key looks expired but may not be; it can "
        "be taken over once it would have expired without the leap"};
}

}  // namespace

bool owner_matches(const std::string& owner, const std::string& wanted, OwnerScope scope) {
    if (owner == wanted) return true;
    return scope == OwnerScope::below && owner.size() > wanted.size() &&
           owner.starts_with(wanted) && owner[wanted.size()] == '/';  // lab: owner-below
}

Time expiry(Time now, Duration ttl) {
    return ttl == until_released ? never : now + ttl;
}

StoreFault id_of_another_key() {
    return {StoreFault::Effect::none, StoreFault::Cause::lock_id_in_use,
            "this lock id names a lease of another key: draw a new one for each key"};
}

PastLease to_past(const Ended& ended, std::int64_t sequence) {
    return {.lease = to_holder(ended.key, ended.ending->grant),
            .how = ended.ending->how,
            .ended_at = ended.ending->at,
            .by = ended.ending->by,
            .why = ended.ending->why,
            .sequence = sequence};
}

Time Rules::now_for(const Cell& cell) const {
    return std::max(now_, cell.touched);  // lab: store-time
}

bool Rules::only_looks_expired(const Cell& cell, const Grant& grant, Time moment) const {
    // The latest time at which the expiry can have been written, as far as the cell knows it. For
    // leases that share a key, that is the time of the grant.
    const Time written = grant.mode == Mode::exclusive ? cell.touched : grant.granted_at;
    return !alive(grant, moment) && alive(grant, moment - clock_.leapt_since(written));
}

Grant* Rules::find_alive(Cell& cell, LockId lock_id) const {
    const Time now = now_for(cell);
    for (Grant& grant : cell.grants) {
        if (grant.lock_id == lock_id && alive(grant, now)) return &grant;
    }
    return nullptr;
}

bool Rules::has_alive(const Cell& cell, LockId lock_id) const {
    return std::ranges::any_of(cell.grants, [&, now = now_for(cell)](const Grant& grant) {
        return grant.lock_id == lock_id && alive(grant, now);
    });
}

template <AnyTry R>
bool Rules::refuses(const R& request, LockId lock_id, const Cell& cell) const {
    const Time now = now_for(cell);
    bool mine = false;
    std::size_t others = 0;
    for (const Grant& grant : cell.grants) {
        if (!alive(grant, now)) continue;
        if (grant.lock_id == lock_id || (!request.owner.empty() && grant.owner == request.owner)) {
            mine = true;
            continue;
        }
        ++others;
        if (request.mode == Mode::exclusive || grant.mode == Mode::exclusive) return true;
    }
    return !mine && others >= places_of(request);
}

bool Rules::keeps_cell(const Request& request, std::size_t index, const Cell& cell) const {
    return std::visit(
        [&]<class R>(const R& r) {
            if constexpr (AnyTry<R>) {
                return refuses(r, tried_ids(r)[index], cell);
            } else if constexpr (ByLockId<R>) {
                return !has_alive(cell, r.lock_id);
            } else {
                return only_reads(kind_of_type<R>);
            }
        },
        request);
}

Refusal Rules::gone(const LockKey& key, const Cell& cell, LockId lock_id, Time now) const {
    for (const Grant& grant : cell.grants) {
        if (grant.lock_id == lock_id) return gone_because(Gone::expired, now);
    }
    if (cell.last && cell.last->grant.lock_id == lock_id) return gone_by(*cell.last, now);
    const auto past = past_(lock_id);
    return past && past->key == key ? gone_by(*past->ending, now)
                                    : gone_because(Gone::unknown, now);
}

void Rules::end(const LockKey& key, Cell& cell, std::size_t index, End how) {
    auto ending = std::make_shared<const Ending>(Ending{.grant = std::move(cell.grants[index]),
                                                        .how = how.reason,
                                                        .at = how.at,
                                                        .by = std::move(how.by),
                                                        .why = std::move(how.why)});
    cell.grants.erase(cell.grants.begin() + static_cast<std::ptrdiff_t>(index));
    cell.touched = std::max(cell.touched, ending->at);
    cell.changed = true;
    if (cell.grants.empty()) cell.last = ending;
    endings_.emplace_back(key, std::move(ending));  // lab: ending
}

Outcome Rules::decide(const TryLock& request, Cell& cell) {
    const Time now = now_for(cell);

    // The same request again, after an answer was lost.
    if (!FreshLockId::is_fresh(request.lock_id)) {
        if (Grant* same = find_alive(cell, request.lock_id)) {
            if (same->mode == request.mode) return granted(request.key, *same, now);
        } else if (Refusal ended = gone(request.key, cell, request.lock_id, now);
                   ended.reason != Gone::unknown) {  // lab: died
            return ended;
        } else if (const auto elsewhere = past_(request.lock_id)) {
            return gone_by(*elsewhere->ending, now);
        }
    }

    Grant* mine = nullptr;
    NamedHolders conflicts;
    std::size_t living = 0;
    for (Grant& grant : cell.grants) {
        if (!alive(grant, now)) continue;  // lab: still-alive
        ++living;
        if (grant.lock_id == request.lock_id || is_own(grant, request.owner, request.token_id)) {
            mine = &grant;
            // lab: conflict
        } else if (grant.mode == Mode::exclusive || request.mode == Mode::exclusive) {
            conflicts.add(request.key, grant);
        }
    }
    if (!conflicts.empty()) return std::move(conflicts).refusal(now);  // lab: refused-as-held
    const bool takes_over = mine == nullptr || mine->mode != request.mode;
    if (takes_over && std::ranges::any_of(cell.grants, [&](const Grant& grant) {
            return only_looks_expired(cell, grant, now);
        })) {
        return leap_fault();
    }
    if (mine != nullptr) return convert_or_renew(request, cell, *mine, now);
    if (living >= places_of(request)) return held_by_all(request.key, cell, now);

    if (request.since && cell.fence != *request.since) {
        Refusal refusal = gone_because(cell.fence == 0 ? Gone::unknown : Gone::taken, now);
        for (const Grant& grant : cell.grants) {
            if (grant.fence == cell.fence) refusal.by = grant.owner;
        }
        if (cell.last && cell.last->grant.fence == cell.fence) refusal.by = cell.last->grant.owner;
        return refusal;
    }
    return grant(request, cell, now);
}

Outcome Rules::convert_or_renew(const TryLock& request, Cell& cell, Grant& mine, Time now) {
    if (mine.mode != request.mode) {
        mine.mode = request.mode;
        if (request.mode == Mode::exclusive) mine.fence = cell.fence = fence_after(cell, now);
    }
    mine.expires_at = capped(expiry(now, request.ttl), mine, request.max_hold);
    for_each_field(requested_texts, [&](const auto& field) {
        if (!field.of(request).empty()) field.of(mine) = field.of(request);
    });
    cell.touched = now;
    cell.changed = true;
    Lease lease = to_lease(request.key, mine, now);

    if (lease.mode == Mode::exclusive) {
        // Shared leases that ran out beside this one end here.
        for (std::size_t i = cell.grants.size(); i-- > 0;) {
            if (cell.grants[i].lock_id != lease.lock_id) {
                end(request.key, cell, i, {Gone::taken, now, lease.owner});
            }
        }
    }
    return lease;
}

Outcome Rules::grant(const TryLock& request, Cell& cell, Time now) {
    for (std::size_t i = cell.grants.size(); i-- > 0;) {
        const Grant& old = cell.grants[i];
        if (alive(old, now)) continue;
        const bool together = old.mode == Mode::shared && request.mode == Mode::shared;
        end(request.key, cell, i,
            together ? End{Gone::expired, now} : End{Gone::taken, now, request.owner});
    }
    cell.fence = fence_after(cell, now);
    cell.touched = now;
    cell.last = nullptr;
    cell.changed = true;
    cell.grants.push_back(
        {.lock_id = request.lock_id,
         .owner = request.owner,
         .mode = request.mode,
         .fence = cell.fence,
         .granted_at = now,
         .expires_at = expiry(
             now, request.max_hold ? std::min(request.ttl, *request.max_hold) : request.ttl)});
    copy_fields(requested_texts, request, cell.grants.back());
    copy_fields(private_fields, request, cell.grants.back());
    return granted(request.key, cell.grants.back(), now);  // lab: granted
}

Outcome Rules::decide(const TryLockAll& request, const std::vector<Cell*>& cells) {
    // Very many may share a cell that refuses the try: it is not copied.
    std::vector<std::optional<Cell>> before;
    before.reserve(cells.size());
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const bool stays = refuses(request, request.lock_ids[i], *cells[i]);
        before.push_back(stays ? std::nullopt : std::optional{*cells[i]});
    }
    const std::size_t endings_before = endings_.size();

    TryLock one{.key = request.keys.front(),
                .owner = request.owner,
                .mode = request.mode,
                .ttl = request.ttl,
                .max_hold = request.max_hold,
                .places = request.places};
    copy_fields(requested_texts, request, one);
    copy_fields(private_fields, request, one);
    std::vector<Lease> leases;
    NamedHolders conflicts;
    Outcome refusal;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        one.key = request.keys[i];
        one.lock_id = request.lock_ids[i];
        Outcome outcome = decide(one, *cells[i]);
        if (auto* lease = std::get_if<Lease>(&outcome)) {
            leases.push_back(std::move(*lease));
            continue;
        }
        if (const auto* no = std::get_if<Refusal>(&outcome)) conflicts.add(*no);
        if (std::holds_alternative<std::monostate>(refusal)) refusal = std::move(outcome);
    }
    if (std::holds_alternative<std::monostate>(refusal)) return leases;

    // lab: undo
    for (std::size_t i = 0; i < cells.size(); ++i) {
        if (before[i]) *cells[i] = *std::move(before[i]);
    }
    endings_.erase(endings_.begin() + static_cast<std::ptrdiff_t>(endings_before), endings_.end());
    if (auto* no = std::get_if<Refusal>(&refusal)) {
        Refusal held = std::move(conflicts).refusal(no->store_now);
        no->holders = std::move(held.holders);
        no->holders_in_all = held.holders_in_all;
    }
    return refusal;
}

Outcome Rules::decide(const Check& request, const LockKey& key, const Cell& cell) const {
    const Time now = now_for(cell);
    for (const Grant& grant : cell.grants) {
        // lab: checked-lease
        if (grant.lock_id == request.lock_id && alive(grant, now)) return granted(key, grant, now);
    }
    return gone(key, cell, request.lock_id, now);
}

Outcome Rules::decide(const Extend& request, const LockKey& key, Cell& cell) {
    const Time now = now_for(cell);
    Grant* grant = find_alive(cell, request.lock_id);  // lab: extended-lease
    if (grant == nullptr) return gone(key, cell, request.lock_id, now);
    if (grant->expires_at != never) {  // lab: extended-expiry
        const Time wanted = std::min(grant->expires_at + request.by, expiry(now, request.max_ttl));
        grant->expires_at = capped(wanted, *grant, request.max_hold);
    }
    cell.touched = now;
    cell.changed = true;
    return granted(key, *grant, now);
}

Outcome Rules::decide(const Renew& request, const LockKey& key, Cell& cell) {
    const Time now = now_for(cell);
    Grant* grant = find_alive(cell, request.lock_id);  // lab: renewed-lease
    if (grant == nullptr) return gone(key, cell, request.lock_id, now);
    // lab: renewed-expiry
    grant->expires_at = capped(expiry(now, request.ttl), *grant, request.max_hold);
    cell.touched = now;
    cell.changed = true;
    return granted(key, *grant, now);
}

Outcome Rules::decide(const Release& request, const LockKey& key, Cell& cell) {
    const Time now = now_for(cell);
    const Grant* grant = find_alive(cell, request.lock_id);  // lab: released-lease
    if (grant == nullptr) return gone(key, cell, request.lock_id, now);
    if (request.if_expires_at && grant->expires_at != *request.if_expires_at) {
        NamedHolders holder;
        holder.add(key, *grant);
        return std::move(holder).refusal(now);
    }
    Outcome released = granted(key, *grant, now);
    // lab: release
    end(key, cell, static_cast<std::size_t>(grant - cell.grants.data()),
        {Gone::released, now, request.by});
    return released;
}

Outcome Rules::decide(const Break& request, Cell& cell) {
    const Time now = now_for(cell);
    for (std::size_t i = 0; i < cell.grants.size(); ++i) {
        const Grant& grant = cell.grants[i];
        if (grant.fence != request.fence) continue;  // lab: broken-fence
        if (!alive(grant, now)) return gone_because(Gone::expired, now);
        Lease lease = to_lease(request.key, grant, now);
        lease.lock_id = {};
        end(request.key, cell, i, {Gone::broken, now, request.by, request.reason});
        return lease;
    }
    if (cell.last && cell.last->grant.fence == request.fence) return gone_by(*cell.last, now);
    return gone_because(Gone::unknown, now);
}

void Rules::release_all(const ReleaseAll& request, const LockKey& key, Cell& cell,
                        std::vector<Lease>& released) {
    const Time now = now_for(cell);
    for (std::size_t i = cell.grants.size(); i-- > 0;) {
        const Grant& grant = cell.grants[i];
        if (!alive(grant, now) || !is_meant(request, key, grant)) continue;
        released.push_back(to_lease(key, grant, now));
        end(key, cell, i, {Gone::released, now, request.by});
    }
}

bool Rules::is_alive(const Cell& cell, const Grant& grant) const {
    return alive(grant, now_for(cell));
}

HolderPage Rules::holders(const LockKey& key, const Cell& cell) const {
    HolderPage page{.store_now = now_for(cell)};
    std::size_t bytes = 0;
    for (const Grant& grant : cell.grants) {
        if (!alive(grant, page.store_now)) continue;
        bytes += size_of(key, grant);
        page.cut = bytes > Limits::page_bytes && !page.empty();
        if (page.cut) break;
        page.items.push_back(to_holder(key, grant));
    }
    return page;
}

bool Rules::end_if_dead_since(const LockKey& key, Cell& cell, Time moment) {
    // Holders that share a key end at different times: the key was in use until the last of them.
    if (cell.touched > moment) return false;
    for (const Grant& grant : cell.grants) {
        if (alive(grant, moment) || only_looks_expired(cell, grant, moment)) return false;
    }
    if (cell.grants.empty() && cell.last && cell.last->at > moment) return false;
    for (std::size_t i = cell.grants.size(); i-- > 0;) {
        end(key, cell, i, {Gone::expired, cell.grants[i].expires_at});
    }
    return true;
}

std::vector<PastLease> Rules::unnoticed(const History& request, const Cell& cell) const {
    const Time now = now_for(cell);
    std::vector<const Grant*> expired;
    for (const Grant& grant : cell.grants) {
        if (!alive(grant, now)) expired.push_back(&grant);
    }
    std::ranges::sort(expired, std::greater<>{},
                      [](const Grant* grant) { return std::tie(grant->expires_at, grant->fence); });
    std::vector<PastLease> page;
    std::int64_t sequence = highest_sequence + 1;
    for (const Grant* const grant : expired) {
        --sequence;
        if (page.size() == request.limit || (request.before && sequence >= *request.before))
            continue;
        page.push_back({.lease = to_holder(*request.key, *grant),
                        .how = Gone::expired,
                        .ended_at = grant->expires_at,
                        .by = {},
                        .why = {},
                        .sequence = sequence});
    }
    return page;
}

Outcome Rules::blocked(const Request& request, const LockKey& key, const Cell& cell) const {
    const Time now = now_for(cell);
    const auto* one = std::get_if<TryLock>(&request);
    const auto* all = std::get_if<TryLockAll>(&request);
    if (one != nullptr || all != nullptr) {
        const std::string& owner = one != nullptr ? one->owner : all->owner;
        const std::string& token_id = one != nullptr ? one->token_id : all->token_id;
        bool conflict = (one != nullptr ? one->mode : all->mode) == Mode::exclusive;
        NamedHolders holders;
        for (const Grant& grant : cell.grants) {
            const bool mine =
                is_own(grant, owner, token_id) || (one != nullptr && grant.lock_id == one->lock_id);
            if (mine) continue;
            conflict = conflict || grant.mode == Mode::exclusive;
            holders.add(key, grant);
        }
        // Shared leases do not conflict with a shared try: only the transaction blocks it.
        if (conflict && !holders.empty()) return std::move(holders).refusal(now);
    }
    Refusal refusal;
    refusal.kind = Refusal::Kind::busy;
    refusal.store_now = now;
    return refusal;
}

}  // namespace leasehold
