#include "conformance/reference_model.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace leasehold::conformance {
namespace {

bool covers(const std::string& wanted, OwnerScope scope, const std::string& owner) {
    if (owner == wanted) return true;
    return scope == OwnerScope::below && owner.substr(0, wanted.size() + 1) == wanted + "/";
}

}  // namespace

void ReferenceModel::let_pass(Duration duration) {
    now_ += duration;
    for (Life& life : lives_) {
        const Duration end = life.how == Gone::unknown ? life.expires : life.ended_at;
        if (!alive(life) && end + retention_ < now_) life.maybe_forgotten = true;
    }
}

std::string ReferenceModel::judge(const Request& request, const Outcome& outcome) {
    ++requests_;
    return std::visit([&](const auto& r) { return judge_one(r, outcome); }, request);
}

Fence ReferenceModel::highest_fence(const LockKey& key) const {
    Fence highest = 0;
    for (const Life& life : lives_) {
        if (life.key == key) highest = std::max(highest, life.fence);
    }
    return highest;
}

std::optional<std::size_t> ReferenceModel::find(const std::optional<LockKey>& key,
                                                LockId id) const {
    for (std::size_t i = 0; i < lives_.size(); ++i) {
        if (lives_[i].lock_id == id && (!key || lives_[i].key == *key)) return i;
    }
    return std::nullopt;
}

void ReferenceModel::end(Life& life, Gone how, const std::string& by, const std::string& why) {
    life.how = how;
    life.by = by;
    life.why = why;
    life.ended_by_request = requests_;
    life.ended_in_batch = batches_;
    life.ended_at = now_;
}

ReferenceModel::Ruling ReferenceModel::rule(const TryLock& request) const {
    Ruling ruling;
    if (const auto known = find(request.key, request.lock_id)) {
        ruling.life = *known;
        if (!alive(lives_[*known])) {
            ruling.verdict = Verdict::gone;
            return ruling;
        }
        if (lives_[*known].mode == request.mode) {
            ruling.verdict = Verdict::same;
            return ruling;
        }
        ruling.verdict = Verdict::mine;
    }
    for (std::size_t i = 0; i < lives_.size(); ++i) {
        const Life& life = lives_[i];
        if (life.key != request.key || !alive(life)) continue;
        const bool own = life.lock_id == request.lock_id ||
                         (!request.owner.empty() && life.owner == request.owner &&
                          life.token_id == request.token_id);
        if (own) {
            ruling.verdict = Verdict::mine;
            ruling.life = i;
        } else if (life.mode == Mode::exclusive || request.mode == Mode::exclusive) {
            ruling.conflicts.push_back(i);
        }
    }
    if (ruling.verdict == Verdict::fresh && request.places) {
        std::vector<std::size_t> living;
        for (std::size_t i = 0; i < lives_.size(); ++i) {
            if (lives_[i].key == request.key && alive(lives_[i])) living.push_back(i);
        }
        if (living.size() >= *request.places) ruling.conflicts = std::move(living);
    }
    if (!ruling.conflicts.empty()) {
        ruling.verdict = Verdict::held;
    } else if (ruling.verdict == Verdict::fresh && request.since &&
               *request.since != highest_fence(request.key)) {
        ruling.verdict = Verdict::not_since;
    }
    return ruling;
}

std::string ReferenceModel::carry_out(const TryLock& request, const Ruling& ruling,
                                      const Lease& lease) {
    if (ruling.verdict == Verdict::same) return differs(lives_[ruling.life], lease);

    Duration until = request.ttl == until_released ? Duration::max() : now_ + request.ttl;
    const bool fresh = ruling.verdict == Verdict::fresh;
    const Duration begun = fresh ? now_ : lives_[ruling.life].granted;
    if (request.max_hold) until = std::min(until, begun + *request.max_hold);

    if (fresh || request.mode == Mode::exclusive) {
        for (Life& other : lives_) {
            if (other.key != request.key || other.how != Gone::unknown || alive(other)) continue;
            const bool readers = other.mode == Mode::shared && request.mode == Mode::shared;
            if (readers)
                end(other, Gone::expired);
            else
                end(other, Gone::taken, request.owner);
        }
    }
    const Fence highest = highest_fence(request.key);
    if (fresh) {
        lives_.push_back({.key = request.key,
                          .lock_id = request.lock_id,
                          .owner = request.owner,
                          .mode = request.mode,
                          .fence = lease.fence,
                          .granted = now_,
                          .expires = until,
                          .note = request.note,
                          .token_id = request.token_id});
        if (lease.fence <= highest) return "the fence did not grow";
        return differs(lives_.back(), lease);
    }
    Life& mine = lives_[ruling.life];
    const bool up = mine.mode == Mode::shared && request.mode == Mode::exclusive;
    mine.mode = request.mode;
    mine.expires = std::max(mine.expires, until);
    if (!request.note.empty()) mine.note = request.note;
    if (up) {
        mine.fence = lease.fence;
        if (lease.fence <= highest) return "the fence did not grow with the mode";
    }
    return differs(mine, lease);
}

std::string ReferenceModel::judge_one(const TryLock& request, const Outcome& outcome) {
    const Ruling ruling = rule(request);
    switch (ruling.verdict) {
        case Verdict::held: return differs_from_held(ruling.conflicts, outcome);
        case Verdict::gone: return differs_from_gone(ruling.life, outcome);
        case Verdict::not_since: {
            const auto* refusal = std::get_if<Refusal>(&outcome);
            if (refusal == nullptr || refusal->kind != Refusal::Kind::gone) {
                return expected_something_else("gone, because of others since", outcome);
            }
            const bool named = std::ranges::any_of(lives_, [&](const Life& life) {
                return life.key == request.key && life.owner == refusal->by &&
                       life.fence > *request.since;
            });
            if (refusal->reason == Gone::taken && (named || refusal->by.empty())) return {};
            if (refusal->reason == Gone::unknown && highest_fence(request.key) == 0) return {};
            return expected_something_else("taken by a later holder", outcome);
        }
        case Verdict::same:
        case Verdict::mine:
        case Verdict::fresh: break;
    }
    const auto* lease = std::get_if<Lease>(&outcome);
    if (lease == nullptr) return expected_something_else("a lease", outcome);
    return carry_out(request, ruling, *lease);
}

std::string ReferenceModel::judge_one(const TryLockAll& request, const Outcome& outcome) {
    std::vector<TryLock> singles;
    std::vector<Ruling> rulings;
    std::vector<std::size_t> conflicts;
    std::vector<std::size_t> dead;
    for (std::size_t i = 0; i < request.keys.size(); ++i) {
        singles.push_back({.key = request.keys[i],
                           .lock_id = request.lock_ids[i],
                           .owner = request.owner,
                           .mode = request.mode,
                           .ttl = request.ttl,
                           .note = request.note,
                           .since = {},
                           .max_hold = request.max_hold,
                           .places = request.places,
                           .token_id = request.token_id});
        rulings.push_back(rule(singles.back()));
        const Ruling& ruling = rulings.back();
        conflicts.insert(conflicts.end(), ruling.conflicts.begin(), ruling.conflicts.end());
        if (ruling.verdict == Verdict::gone) dead.push_back(ruling.life);
    }
    // If a lock id is dead, either refusal is correct.
    std::string difference = "it should have been refused";
    for (const std::size_t life : dead) {
        difference = differs_from_gone(life, outcome);
        if (difference.empty()) return {};
    }
    if (!conflicts.empty()) return differs_from_held(conflicts, outcome);
    if (!dead.empty()) return difference;

    const auto* leases = std::get_if<std::vector<Lease>>(&outcome);
    if (leases == nullptr || leases->size() != singles.size()) {
        return expected_something_else("a lease for every key", outcome);
    }
    for (std::size_t i = 0; i < singles.size(); ++i) {
        difference = carry_out(singles[i], rulings[i], (*leases)[i]);
        if (!difference.empty()) return difference;
    }
    return {};
}

std::string ReferenceModel::judge_one(const Check& request, const Outcome& outcome) {
    const auto life = find(request.key, request.lock_id);
    if (life && alive(lives_[*life])) return differs(lives_[*life], outcome);
    return differs_from_gone(life, outcome);
}

std::string ReferenceModel::judge_one(const Extend& request, const Outcome& outcome) {
    const auto found = find(request.key, request.lock_id);
    if (!found || !alive(lives_[*found])) return differs_from_gone(found, outcome);
    Life& life = lives_[*found];
    if (life.expires != Duration::max()) {
        Duration until = std::min(life.expires + request.by, now_ + request.max_ttl);
        if (request.max_hold) until = std::min(until, life.granted + *request.max_hold);
        life.expires = std::max(life.expires, until);
    }
    return differs(life, outcome);
}

std::string ReferenceModel::judge_one(const Renew& request, const Outcome& outcome) {
    const auto found = find(request.key, request.lock_id);
    if (!found || !alive(lives_[*found])) return differs_from_gone(found, outcome);
    Life& life = lives_[*found];
    Duration until = request.ttl == until_released ? Duration::max() : now_ + request.ttl;
    if (request.max_hold) until = std::min(until, life.granted + *request.max_hold);
    life.expires = std::max(life.expires, until);
    return differs(life, outcome);
}

std::string ReferenceModel::judge_one(const Release& request, const Outcome& outcome) {
    const auto found = find(request.key, request.lock_id);
    if (!found || !alive(lives_[*found])) return differs_from_gone(found, outcome);
    end(lives_[*found], Gone::released, request.by);
    return differs(lives_[*found], outcome);
}

std::string ReferenceModel::judge_one(const ReleaseAll& request, const Outcome& outcome) {
    const auto* leases = std::get_if<std::vector<Lease>>(&outcome);
    if (leases == nullptr) return expected_something_else("the released leases", outcome);
    std::size_t count = 0;
    for (Life& life : lives_) {
        if (!alive(life) || !covers(request.owner, request.scope, life.owner)) continue;
        if (request.key && life.key != *request.key) continue;
        if (!request.token_id.empty() &&
            !covers(request.token_id, OwnerScope::below, life.token_id)) {
            continue;
        }
        ++count;
        end(life, Gone::released, request.by);
        const auto lease = std::ranges::find(*leases, life.lock_id, &Lease::lock_id);
        if (lease == leases->end()) return "a lease of " + life.owner + " was not released";
        if (auto difference = differs(life, *lease); !difference.empty()) return difference;
    }
    if (leases->size() != count) return "something else was released, too";
    return {};
}

std::string ReferenceModel::judge_one(const Break& request, const Outcome& outcome) {
    std::optional<std::size_t> found;
    for (std::size_t i = 0; i < lives_.size(); ++i) {
        if (lives_[i].key == request.key && lives_[i].fence == request.fence) found = i;
    }
    if (found && alive(lives_[*found])) {
        Life& life = lives_[*found];
        end(life, Gone::broken, request.by, request.reason);
        const auto* lease = std::get_if<Lease>(&outcome);
        if (lease == nullptr) return expected_something_else("the broken lease", outcome);
        if (!lease->lock_id.is_nil()) return "the one who broke it got the lock id";
        Lease with_id = *lease;
        with_id.lock_id = life.lock_id;
        return differs(life, with_id);
    }
    // The answer may leave out how an older lease ended: that is for its holder to ask.
    if (differs_from_gone(std::nullopt, outcome).empty()) return {};
    return differs_from_gone(found, outcome);
}

std::string ReferenceModel::judge_one(const Holders& request, const Outcome& outcome) {
    const auto* holders = std::get_if<HolderPage>(&outcome);
    if (holders == nullptr) return expected_something_else("the holders", outcome);
    std::vector<std::size_t> expected;
    for (std::size_t i = 0; i < lives_.size(); ++i) {
        if (lives_[i].key == request.key && alive(lives_[i])) expected.push_back(i);
    }
    return differs_from_holders(std::move(expected), holders->items);
}

std::string ReferenceModel::judge_one(const List& request, const Outcome& outcome) {
    const auto* holders = std::get_if<HolderPage>(&outcome);
    if (holders == nullptr) return expected_something_else("a list", outcome);
    if (!std::ranges::is_sorted(*holders, {}, &Holder::key)) return "the list is not in order";
    std::vector<std::size_t> expected;
    for (std::size_t i = 0; i < lives_.size(); ++i) {
        const Life& life = lives_[i];
        if (!alive(life) || (request.type && life.key.type() != *request.type)) continue;
        if (request.owner && !covers(*request.owner, request.scope, life.owner)) continue;
        expected.push_back(i);
    }
    if (expected.size() > request.limit) return "the model was asked for a page it cannot judge";
    return differs_from_holders(std::move(expected), holders->items);
}

std::string ReferenceModel::judge_one(const History& request, const Outcome& outcome) {
    const auto* page = std::get_if<HistoryPage>(&outcome);
    if (page == nullptr) return expected_something_else("a history", outcome);
    std::size_t found = 0;
    for (const Life& life : lives_) {
        if (request.key && life.key != *request.key) continue;
        const auto past = std::ranges::find_if(*page, [&](const PastLease& entry) {
            return entry.lease.key == life.key && entry.lease.fence == life.fence;
        });
        const bool ended = life.how != Gone::unknown;
        const bool expired = !ended && !alive(life);
        if (past == page->end()) {
            // Without a key in the request, an expired lease that nobody has ended may be missing.
            if (life.maybe_forgotten || alive(life) || (expired && !request.key)) continue;
            return "the end of a lease of '" + life.owner + "' is missing";
        }
        if (alive(life)) return "a living lease of '" + life.owner + "' is said to have ended";
        ++found;
        const Gone how = ended ? life.how : Gone::expired;
        if (past->how != how || past->by != life.by || past->why != life.why ||
            past->lease.owner != life.owner || past->lease.mode != life.mode ||
            past->lease.note != life.note) {
            return "the end of a lease of '" + life.owner + "' is reported as " +
                   to_string(past->how) + " by '" + past->by + "', not as " + to_string(how) +
                   " by '" + life.by + "'";
        }
    }
    if (found != page->size()) return "the history tells of leases that never were";

    std::size_t last_batch = SIZE_MAX;
    std::map<LockKey, std::size_t> last_request;
    for (const PastLease& past : *page) {
        const auto life = std::ranges::find_if(lives_, [&](const Life& candidate) {
            return candidate.key == past.lease.key && candidate.fence == past.lease.fence;
        });
        if (life->how == Gone::unknown) continue;
        std::size_t& last = last_request.try_emplace(life->key, SIZE_MAX).first->second;
        if (life->ended_in_batch > last_batch || life->ended_by_request > last) {
            return "the history is not in order";
        }
        last_batch = life->ended_in_batch;
        last = life->ended_by_request;
    }
    return {};
}

std::string ReferenceModel::judge_one(const Purge&, const Outcome& outcome) {
    if (!std::holds_alternative<Purged>(outcome)) return expected_something_else("purged", outcome);
    return {};
}

}  // namespace leasehold::conformance
