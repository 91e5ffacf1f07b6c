#include "lab/checks.hpp"

#include <algorithm>
#include <map>
#include <type_traits>

namespace leasehold::lab {
namespace {

void dead_lives(const Evidence& evidence, const Report& report) {
    evidence.each_seen([&](const Story& story) {
        for (const Operation* gone : story.gone) {
            const bool was_there = std::get<Refusal>(gone->outcome).reason != Gone::unknown ||
                                   story.first_seen() < gone->called;
            if (!was_there) continue;
            for (const Sighting& seen : story.alive) {
                if (*gone->returned < seen.operation->called) {
                    report("called gone, and alive after that", {gone, seen.operation});
                }
            }
        }
        for (const Operation* end : story.ends) {
            if (end->is_unknown()) continue;
            for (const Sighting& seen : story.alive) {
                if (seen.operation != end && *end->returned < seen.operation->called) {
                    report("ended, and alive after that", {end, seen.operation});
                }
            }
        }
    });
}

void ended_twice(const Evidence& evidence, const Report& report) {
    for (const auto& [id, story] : evidence.stories.by_id) {
        std::vector<const Operation*> ends;
        for (const Operation* end : story.ends) {
            if (!end->is_unknown()) ends.push_back(end);
        }
        if (ends.size() > 1) report("several were told that they ended it", ends);
    }
}

void fence_not_unique(const Evidence& evidence, const Report& report) {
    for (const auto& [key, told] : evidence.stories.by_key) {
        std::map<Fence, const Sighting*> first;
        for (const Story* story : told) {
            for (const Sighting& seen : story->alive) {
                const auto [at, fresh] = first.try_emplace(seen.lease.fence, &seen);
                if (!fresh && at->second->lease.lock_id != seen.lease.lock_id) {
                    report(key.to_string() + ": two leases have the fence " +
                               std::to_string(seen.lease.fence),
                           {at->second->operation, seen.operation});
                }
            }
        }
    }
}

void fence_not_growing(const Evidence& evidence, const Report& report) {
    struct Grant {
        Instant called, returned;
        Fence fence;
        const Operation* operation;
    };
    for (const auto& [key, told] : evidence.stories.by_key) {
        std::vector<Grant> grants;
        for (const Story* story : told) {
            if (!story->is_seen()) continue;
            // A lease that is converted gets a new fence. The first one is the fence of the grant.
            const auto first = std::ranges::min_element(
                story->alive, {}, [](const Sighting& seen) { return seen.lease.fence; });
            grants.push_back(
                {story->first_called, story->first_seen(), first->lease.fence, first->operation});
            for (const Sighting& before : story->alive) {
                for (const Sighting& after : story->alive) {
                    if (*before.operation->returned < after.operation->called &&
                        after.lease.fence < before.lease.fence) {
                        report("a lease's fence went down", {before.operation, after.operation});
                    }
                }
            }
        }
        std::vector<Grant> by_return = grants;
        std::ranges::sort(grants, {}, &Grant::called);
        std::ranges::sort(by_return, {}, &Grant::returned);
        const Grant* highest = nullptr;
        auto at = by_return.begin();
        for (const Grant& grant : grants) {
            for (; at != by_return.end() && at->returned < grant.called; ++at) {
                if (highest == nullptr || at->fence > highest->fence) highest = &*at;
            }
            if (highest != nullptr && grant.fence <= highest->fence) {
                report(key.to_string() + ": " + std::to_string(grant.fence) + " after " +
                           std::to_string(highest->fence),
                       {highest->operation, grant.operation});
            }
        }
    }
}

// Uses only the order of fences and of answers. When a client gets a later fence on a key, all
// leases that it cannot share the key with have ended. They never come back, whatever any clock
// says.
void alive_beside_a_later_one(const Evidence& evidence, const Report& report) {
    for (const auto& [key, told] : evidence.stories.by_key) {
        std::vector<const Sighting*> by_call;
        for (const Story* story : told) {
            for (const Sighting& seen : story->alive) by_call.push_back(&seen);
        }
        std::vector<const Sighting*> by_return = by_call;
        std::ranges::sort(by_call, {}, [](const Sighting* s) { return s->operation->called; });
        std::ranges::sort(by_return, {}, [](const Sighting* s) { return *s->operation->returned; });
        const Sighting* latest = nullptr;
        const Sighting* latest_exclusive = nullptr;
        auto at = by_return.begin();
        for (const Sighting* seen : by_call) {
            for (; at != by_return.end() && *(*at)->operation->returned < seen->operation->called;
                 ++at) {
                const auto later = [&](const Sighting* best) {
                    return best == nullptr || (*at)->lease.fence > best->lease.fence;
                };
                if (later(latest)) latest = *at;
                if ((*at)->lease.mode == Mode::exclusive && later(latest_exclusive)) {
                    latest_exclusive = *at;
                }
            }
            const Sighting* other = seen->lease.mode == Mode::exclusive ? latest : latest_exclusive;
            if (other != nullptr && other->lease.fence > seen->lease.fence &&
                other->lease.lock_id != seen->lease.lock_id) {
                report(key.to_string() + " had been granted to another, with a later fence",
                       {other->operation, seen->operation});
            }
        }
    }
}

void lock_id_of_two_leases(const Evidence& evidence, const Report& report) {
    evidence.each_seen([&](const Story& story) {
        const Sighting& first = story.alive.front();
        for (const Sighting& seen : story.alive) {
            if (seen.lease.key != first.lease.key ||
                seen.lease.granted_at != first.lease.granted_at ||
                seen.lease.owner != first.lease.owner) {
                report("a lock id shows two leases", {first.operation, seen.operation});
                break;
            }
        }
    });
}

void lock_id_nobody_drew(const Evidence& evidence, const Report& report) {
    evidence.each_seen([&](const Story& story) {
        if (!story.asked_for)
            report("an answer has a lock id that nobody asked with",
                   {story.alive.front().operation});
    });
}

void release_all_took_others(const Evidence& evidence, const Report& report) {
    for (const Operation& operation : evidence.operations) {
        const auto* wanted = std::get_if<ReleaseAll>(&operation.request);
        if (wanted == nullptr) continue;
        for (const Lease& lease : leases_in(operation)) {
            if (!belongs_to(lease.owner, wanted->owner, wanted->scope) ||
                (wanted->key && lease.key != *wanted->key)) {
                report("it ended a lease of " + lease.owner, {&operation});
            }
            if (const auto story = evidence.stories.by_id.find(lease.lock_id);
                story != evidence.stories.by_id.end() && story->second.owner != lease.owner) {
                report("it ended a lease of " + story->second.owner, {&operation});
            }
        }
    }
}

void release_all_missed_some(const Evidence& evidence, const Report& report) {
    std::map<std::string, std::vector<const Story*>> owned;
    evidence.each_seen([&](const Story& story) { owned[story.owner].push_back(&story); });
    for (const Operation& operation : evidence.operations) {
        const auto* wanted = std::get_if<ReleaseAll>(&operation.request);
        if (wanted == nullptr || operation.is_unknown() || operation.is_refused()) continue;
        for (auto at = owned.lower_bound(wanted->owner);
             at != owned.end() && at->first.starts_with(wanted->owner); ++at) {
            if (!belongs_to(at->first, wanted->owner, wanted->scope)) continue;
            for (const Story* story : at->second) {
                if (wanted->key && story->key != *wanted->key) continue;
                if (story->first_seen() >= operation.called) continue;
                for (const Sighting& seen : story->alive) {
                    if (*operation.returned < seen.operation->called) {
                        report("a lease of " + story->owner + " lived on",
                               {&operation, seen.operation});
                        break;
                    }
                }
            }
        }
    }
}

void refused_but_done(const Evidence& evidence, const Report& report) {
    for (const auto& [id, story] : evidence.stories.by_id) {
        if (story.asked_for && story.surely_refused && story.is_seen()) {
            report("each try was refused, and the lease is there", {story.alive.front().operation});
        }
    }
}

bool concerns(const Request& request, const LockKey& key) {
    return std::visit(
        [&]<class R>(const R& r) {
            if constexpr (requires { r.keys; }) {
                return std::ranges::find(r.keys, key) != r.keys.end();
            } else if constexpr (requires { r.key.has_value(); }) {
                return !r.key || *r.key == key;
            } else if constexpr (requires { r.key; }) {
                return r.key == key;
            } else {
                return false;
            }
        },
        request);
}

bool only_reads(const Request& request) {
    return std::visit(
        []<class R>(const R&) {
            return std::is_same_v<R, Check> || std::is_same_v<R, Holders> ||
                   std::is_same_v<R, List> || std::is_same_v<R, History>;
        },
        request);
}

// Whether a transaction of another client on this key may have been open. If the store has only one
// writer: whether another client may have written during the whole operation.
bool met_another(const Evidence& evidence, const Operation& operation, const LockKey& key) {
    // The database ends a transaction this long after its client has gone.
    constexpr Duration forgotten = std::chrono::seconds{12};
    return std::ranges::any_of(evidence.operations, [&](const Operation& other) {
        if (&other == &operation || other.called > *operation.returned) return false;
        const bool over = !other.is_unknown() && !std::holds_alternative<StoreFault>(other.outcome);
        const Instant end = over ? *other.returned : other.called + forgotten;
        if (end >= operation.called && concerns(other.request, key)) return true;
        return evidence.expectations.one_writer && !only_reads(other.request) &&
               other.called <= operation.called && end >= *operation.returned;
    });
}

void refused_though_free(const Evidence& evidence, const Report& report) {
    std::map<std::pair<LockKey, Fence>, const Story*> by_fence;
    evidence.each_seen([&](const Story& story) {
        for (const Sighting& seen : story.alive) by_fence[{story.key, seen.lease.fence}] = &story;
    });
    const Duration slow = evidence.expectations.clock_drift + evidence.expectations.standstill;
    for (const Operation& operation : evidence.operations) {
        const auto* refusal = std::get_if<Refusal>(&operation.outcome);
        if (refusal == nullptr || refusal->kind != Refusal::Kind::held) continue;
        if (evidence.expectations.may_have_met_a_transaction(operation)) continue;
        for (const Holder& holder : refusal->holders) {
            const auto known = by_fence.find({holder.key, holder.fence});
            if (known == by_fence.end()) {
                // Perhaps it is the lease of a try whose answer was lost.
                const auto open = evidence.stories.open_tries.find({holder.key, holder.owner});
                if (open == evidence.stories.open_tries.end() ||
                    std::ranges::none_of(open->second, [&](const Operation* unanswered) {
                        return unanswered->called < *operation.returned;
                    })) {
                    report(holder.key.to_string() +
                               " is said to be held by a lease that nobody was granted",
                           {&operation});
                }
            } else if (const Story& story = *known->second;
                       story.alive_until_at_most(slow) < operation.called ||
                       story.first_called > *operation.returned) {
                if (evidence.expectations.transactions_meet &&
                    met_another(evidence, operation, holder.key)) {
                    continue;
                }
                report(holder.key.to_string() + " is said to be held by a lease that is over",
                       {story.alive.front().operation, &operation});
            }
        }
    }
}

}  // namespace

std::vector<Rule> rules_by_order() {
    return {
        {"dead lives", dead_lives},
        {"ended twice", ended_twice},
        {"fence not unique", fence_not_unique},
        {"fence not growing", fence_not_growing},
        {"alive beside a later one", alive_beside_a_later_one},
        {"lock id of two leases", lock_id_of_two_leases},
        {"lock id nobody drew", lock_id_nobody_drew},
        {"release-all took others", release_all_took_others},
        {"release-all missed some", release_all_missed_some},
        {"refused but done", refused_but_done},
        {"refused though free", refused_though_free},
    };
}

}  // namespace leasehold::lab
