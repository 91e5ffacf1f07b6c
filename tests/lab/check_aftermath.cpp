#include "lab/checks.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace leasehold::lab {
namespace {

void aftermath_two_at_once(const Evidence& evidence, const Report& report) {
    if (evidence.aftermath == nullptr) return;
    struct Span {
        Time from, to;
        Mode mode;
        Fence fence;
    };
    std::map<LockKey, std::vector<Span>> by_key;
    for (const PastLease& past : evidence.aftermath->history) {
        by_key[past.lease.key].push_back({past.lease.granted_at,
                                          std::min(past.ended_at, past.lease.expires_at),
                                          past.lease.mode, past.lease.fence});
    }
    for (const Holder& holder : evidence.aftermath->holders) {
        by_key[holder.key].push_back(
            {holder.granted_at, holder.expires_at, holder.mode, holder.fence});
    }
    for (auto& [key, spans] : by_key) {
        std::ranges::sort(spans, {}, &Span::from);
        for (std::size_t i = 1; i < spans.size(); ++i) {
            const Span& before = spans[i - 1];
            const bool converted = before.from == spans[i].from;
            if (!converted && before.to > spans[i].from && before.mode == Mode::exclusive &&
                spans[i].mode == Mode::exclusive) {
                report(key.to_string() + ": the fences " + std::to_string(before.fence) + " and " +
                           std::to_string(spans[i].fence) + " lived at once",
                       {});
            }
        }
    }
}

void aftermath_fences(const Evidence& evidence, const Report& report) {
    if (evidence.aftermath == nullptr) return;
    std::set<std::pair<LockKey, Fence>> seen;
    for (const PastLease& past : evidence.aftermath->history) {
        if (!seen.emplace(past.lease.key, past.lease.fence).second) {
            report(past.lease.key.to_string() + ": the fence " + std::to_string(past.lease.fence) +
                       " ended twice",
                   {});
        }
    }
    for (const Holder& holder : evidence.aftermath->holders) {
        if (seen.contains({holder.key, holder.fence})) {
            report(holder.key.to_string() + ": the fence " + std::to_string(holder.fence) +
                       " ended and lives",
                   {});
        }
    }
}

// A lease that was shown is alive, or the store remembers its end as it was reported.
void aftermath_lacks_what_was_told(const Evidence& evidence, const Report& report) {
    if (evidence.aftermath == nullptr) return;
    std::map<std::pair<LockKey, Fence>, const PastLease*> past;
    for (const PastLease& lease : evidence.aftermath->history)
        past[{lease.lease.key, lease.lease.fence}] = &lease;
    std::set<std::pair<LockKey, Fence>> living;
    for (const Holder& holder : evidence.aftermath->holders)
        living.emplace(holder.key, holder.fence);
    evidence.each_seen([&](const Story& story) {
        const PastLease* ended = nullptr;
        bool lives = false;
        for (const Sighting& seen : story.alive) {
            const std::pair name{story.key, seen.lease.fence};
            if (const auto at = past.find(name); at != past.end()) ended = at->second;
            lives |= living.contains(name);
        }
        // A conversion whose answer was lost may have given the lease a fence that no client knows.
        const bool may_be_converted =
            evidence.stories.open_tries.contains({story.key, story.owner}) && !story.owner.empty();
        if (ended == nullptr && !lives && !may_be_converted) {
            report(story.key.to_string() +
                       ": a lease that was granted is neither alive nor remembered",
                   {story.alive.front().operation});
            return;
        }
        for (const Operation* end : story.ends) {
            if (end->is_unknown()) continue;
            const bool broken = std::holds_alternative<Break>(end->request);
            if (lives ||
                (ended != nullptr && ended->how != (broken ? Gone::broken : Gone::released))) {
                report(story.key.to_string() +
                           ": it was told to have ended, and is remembered otherwise",
                       {end});
            }
        }
    });
}

void aftermath_has_what_was_refused(const Evidence& evidence, const Report& report) {
    if (evidence.aftermath == nullptr) return;
    for (const auto& [name, count] : untold_leases(evidence.stories, *evidence.aftermath)) {
        if (evidence.stories.open_tries.contains(name)) continue;
        report(name.first.to_string() + ": the store has a lease of " + name.second +
                   " that nobody was granted",
               {});
    }
}

// Each operation takes effect at most once.
void aftermath_done_twice(const Evidence& evidence, const Report& report) {
    if (evidence.aftermath == nullptr) return;
    for (const auto& [name, count] : untold_leases(evidence.stories, *evidence.aftermath)) {
        const auto open = evidence.stories.open_tries.find(name);
        if (open == evidence.stories.open_tries.end() || count <= open->second.size()) continue;
        report(name.first.to_string() + ": more leases of " + name.second +
                   " than tries without an answer",
               open->second);
    }
}

}  // namespace

std::map<std::pair<LockKey, std::string>, std::size_t> untold_leases(const Stories& stories,
                                                                     const Aftermath& aftermath) {
    std::set<std::pair<LockKey, Fence>> seen;
    for (const auto& [id, story] : stories.by_id) {
        for (const Sighting& one : story.alive) seen.emplace(story.key, one.lease.fence);
    }
    std::map<std::pair<LockKey, std::string>, std::size_t> untold;
    const auto look = [&](const Holder& lease) {
        if (!seen.contains({lease.key, lease.fence})) ++untold[{lease.key, lease.owner}];
    };
    for (const PastLease& past : aftermath.history) look(past.lease);
    for (const Holder& holder : aftermath.holders) look(holder);
    return untold;
}

std::vector<Rule> rules_by_aftermath() {
    return {
        {"aftermath: two at once", aftermath_two_at_once},
        {"aftermath: fences", aftermath_fences},
        {"aftermath: lacks what was told", aftermath_lacks_what_was_told},
        {"aftermath: has what was refused", aftermath_has_what_was_refused},
        {"aftermath: done twice", aftermath_done_twice},
    };
}

}  // namespace leasehold::lab
