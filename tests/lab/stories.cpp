#include "lab/stories.hpp"

#include <algorithm>

namespace leasehold::lab {
namespace {

// The lock id that a check, extension, renewal or release names.
const LockId* named_id(const Request& request) {
    return std::visit(
        []<class R>(const R& r) -> const LockId* {
            if constexpr (std::is_same_v<R, Check> || std::is_same_v<R, Extend> ||
                          std::is_same_v<R, Renew> || std::is_same_v<R, Release>) {
                return &r.lock_id;
            }
            return nullptr;
        },
        request);
}

Mode mode_of_try(const Request& request) {
    const auto* one = std::get_if<TryLock>(&request);
    return one != nullptr ? one->mode : std::get<TryLockAll>(request).mode;
}

bool is_gone(const Operation& operation) {
    const auto* refusal = std::get_if<Refusal>(&operation.outcome);
    return refusal != nullptr && refusal->kind == Refusal::Kind::gone;
}

void add_try(Stories& stories, const Operation& operation) {
    const std::string& owner = *owner_of_try(operation.request);
    for (const auto& [key, id] : wanted_by(operation.request)) {
        Story& story =
            stories.by_id.try_emplace(id, Story{.lock_id = id, .key = key}).first->second;
        story.asked_for = true;
        story.owner = owner;
        ++story.tries;
        story.first_called = std::min(story.first_called, operation.called);
        if (!operation.is_refused()) story.surely_refused = false;
        if (operation.is_unknown()) stories.open_tries[{key, owner}].push_back(&operation);
        // A try that is refused as gone says how an earlier lease with the same lock id ended.
        const auto* refusal = std::get_if<Refusal>(&operation.outcome);
        if (is_gone(operation) && refusal->reason != Gone::unknown &&
            std::holds_alternative<TryLock>(operation.request) &&
            !std::get<TryLock>(operation.request).since) {
            story.gone.push_back(&operation);
        }
    }
}

// Adds the requests that name one lease by its lock id.
void add_by_id(Stories& stories, const Operation& operation) {
    const LockId* id = named_id(operation.request);
    if (id == nullptr) return;
    const auto found = stories.by_id.find(*id);
    if (found == stories.by_id.end()) return;
    Story& story = found->second;
    const bool releases = std::holds_alternative<Release>(operation.request);
    if (releases && !operation.is_refused()) story.ends.push_back(&operation);
    if (!releases && operation.is_unknown()) {
        story.may_have_been_prolonged |= !std::holds_alternative<Check>(operation.request);
    }
    if (is_gone(operation)) story.gone.push_back(&operation);
}

void add_sightings(Stories& stories, const Operation& operation) {
    if (std::holds_alternative<ReleaseAll>(operation.request) ||
        std::holds_alternative<Break>(operation.request)) {
        return;  // by owner or by fence: see add_ends_by_name
    }
    for (Lease& lease : leases_in(operation)) {
        Story& story =
            stories.by_id
                .try_emplace(lease.lock_id, Story{.lock_id = lease.lock_id, .key = lease.key})
                .first->second;
        if (story.alive.empty()) story.owner = lease.owner;
        story.alive.push_back({&operation, std::move(lease)});
    }
}

bool ends(const Operation& operation, const Story& story) {
    if (const auto* all = std::get_if<ReleaseAll>(&operation.request)) {
        if (all->key && *all->key != story.key) return false;
        if (!belongs_to(story.owner, all->owner, all->scope)) return false;
        const auto* ended = std::get_if<std::vector<Lease>>(&operation.outcome);
        return operation.is_unknown() ||
               (ended != nullptr &&
                std::ranges::find(*ended, story.lock_id, &Lease::lock_id) != ended->end());
    }
    const auto& broken = std::get<Break>(operation.request);
    if (operation.is_refused() || broken.key != story.key) return false;
    return std::ranges::any_of(
        story.alive, [&](const Sighting& seen) { return seen.lease.fence == broken.fence; });
}

void add_end(const Operation& operation, const std::vector<Story*>& stories) {
    for (Story* story : stories) {
        if (ends(operation, *story)) {
            story->ends.push_back(&operation);
        } else if (std::holds_alternative<Break>(operation.request) && !operation.is_refused() &&
                   story->may_have_been_prolonged) {
            // Perhaps by the fence of a conversion whose answer was lost.
            story->perhaps_ends.push_back(&operation);
        }
    }
}

// An owner prolongs its lease by another try, with any lock id.
void add_prolonging_tries(Stories& stories) {
    for (auto& [id, story] : stories.by_id) {
        const auto open = stories.open_tries.find({story.key, story.owner});
        if (open == stories.open_tries.end()) continue;
        const bool has_name = !story.owner.empty();
        for (const Operation* operation : open->second) {
            const auto wanted = wanted_by(operation->request);
            const bool same_id =
                std::ranges::find(wanted, id, &std::pair<LockKey, LockId>::second) != wanted.end();
            if (!has_name && !same_id) continue;
            story.may_have_been_prolonged = true;
            story.may_have_been_shared |= mode_of_try(operation->request) == Mode::shared;
        }
    }
}

}  // namespace

bool Sighting::is_written() const {
    if (std::holds_alternative<Check>(operation->request)) return false;
    if (owner_of_try(operation->request) == nullptr || lease.granted_at == lease.store_now)
        return true;
    // A repeated try changes nothing; the owner's next try prolongs the lease that the first was
    // granted.
    const auto wanted = wanted_by(operation->request);
    return std::ranges::find(wanted, lease.lock_id, &std::pair<LockKey, LockId>::second) ==
           wanted.end();
}

Instant Story::first_seen() const {
    Instant first = Instant::max();
    for (const Sighting& seen : alive) first = std::min(first, *seen.operation->returned);
    return first;
}

Instant Story::first_end_called() const {
    Instant first = Instant::max();
    for (const Operation* end : ends) first = std::min(first, end->called);
    for (const Operation* end : perhaps_ends) first = std::min(first, end->called);
    return first;
}

Instant Story::first_end_told() const {
    Instant first = Instant::max();
    for (const Operation* end : ends) {
        if (!end->is_unknown()) first = std::min(first, *end->returned);
    }
    return first;
}

Instant Story::alive_until_at_least() const {
    Instant until = Instant::min();
    for (const auto& [operation, lease] : alive) {
        if (std::holds_alternative<Release>(operation->request)) continue;
        if (lease.expires_at == never) return first_end_called();
        until = std::max(until, operation->called + lease.remaining().value());
    }
    return std::min(until, first_end_called());
}

Instant Story::alive_until_at_most(Duration slow) const {
    Instant until = Instant::min();
    for (const auto& [operation, lease] : alive) {
        if (lease.expires_at == never) return first_end_told();
        until = std::max(until, *operation->returned + lease.remaining().value() + slow);
    }
    if (may_have_been_prolonged || !is_seen()) until = Instant::max();
    return std::min(until, first_end_told());
}

bool Story::was_always_exclusive() const {
    return !may_have_been_shared && std::ranges::all_of(alive, [](const Sighting& seen) {
        return seen.lease.mode == Mode::exclusive;
    });
}

bool belongs_to(const std::string& owner, const std::string& wanted, OwnerScope scope) {
    return owner == wanted || (scope == OwnerScope::below && owner.starts_with(wanted + '/'));
}

std::vector<Lease> leases_in(const Operation& operation) {
    if (const auto* one = std::get_if<Lease>(&operation.outcome)) return {*one};
    if (const auto* many = std::get_if<std::vector<Lease>>(&operation.outcome)) return *many;
    return {};
}

std::vector<std::pair<LockKey, LockId>> wanted_by(const Request& request) {
    if (const auto* one = std::get_if<TryLock>(&request)) return {{one->key, one->lock_id}};
    std::vector<std::pair<LockKey, LockId>> wanted;
    if (const auto* all = std::get_if<TryLockAll>(&request)) {
        for (std::size_t i = 0; i < all->keys.size(); ++i) {
            wanted.emplace_back(all->keys[i], all->lock_ids[i]);
        }
    }
    return wanted;
}

const std::string* owner_of_try(const Request& request) {
    if (const auto* one = std::get_if<TryLock>(&request)) return &one->owner;
    if (const auto* all = std::get_if<TryLockAll>(&request)) return &all->owner;
    return nullptr;
}

std::optional<Time> store_time(const Operation& operation) {
    if (const auto* refusal = std::get_if<Refusal>(&operation.outcome)) return refusal->store_now;
    const std::vector<Lease> leases = leases_in(operation);
    if (leases.empty()) return std::nullopt;
    return leases.front().store_now;
}

Stories tell(const Operations& operations) {
    Stories stories;
    for (const Operation& operation : operations) {
        if (owner_of_try(operation.request) != nullptr) add_try(stories, operation);
    }
    for (const Operation& operation : operations) {
        add_by_id(stories, operation);
        add_sightings(stories, operation);
    }
    add_prolonging_tries(stories);
    std::map<std::string, std::vector<Story*>> owned;
    std::map<LockKey, std::vector<Story*>> on_key;
    for (auto& [id, story] : stories.by_id) {
        owned[story.owner].push_back(&story);
        on_key[story.key].push_back(&story);
    }
    for (const Operation& operation : operations) {
        if (const auto* all = std::get_if<ReleaseAll>(&operation.request)) {
            for (auto at = owned.lower_bound(all->owner);
                 at != owned.end() && at->first.starts_with(all->owner); ++at) {
                add_end(operation, at->second);
            }
        } else if (const auto* broken = std::get_if<Break>(&operation.request)) {
            if (const auto at = on_key.find(broken->key); at != on_key.end()) {
                add_end(operation, at->second);
            }
        }
    }
    for (auto& [key, told] : on_key) stories.by_key[key].assign(told.begin(), told.end());
    for (auto& [key, told] : stories.by_key) {
        std::ranges::sort(told, {}, [](const Story* story) {
            return std::pair{story->first_called, story->lock_id};
        });
    }
    return stories;
}

}  // namespace leasehold::lab
