#include "lab/checker.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <unordered_set>

#include "lab/stories.hpp"

namespace leasehold::lab {
namespace {

class Checker {
public:
    Checker(const Operations& operations, const Expectations& expectations,
            const Aftermath* aftermath)
        : operations_{operations},
          expectations_{expectations},
          aftermath_{aftermath},
          stories_{tell(operations)} {}

    std::vector<Violation> run();

    struct Rule {
        const char* name;
        void (Checker::*check)();
    };
    static const std::vector<Rule> rules;

private:
    void report(std::string what, std::vector<const Operation*> operations) {
        violations_.push_back({rule_, std::move(what), std::move(operations)});
    }
    template <class Look>
    void each_seen(Look look) const {
        for (const auto& [id, story] : stories_.by_id) {
            if (story.is_seen()) look(story);
        }
    }
    // What an answer says, by itself.
    void contradicts_itself();
    // By the store's clock.
    void two_alive_at_once();
    void alive_after_its_expiry();
    void expiry_drawn_nearer();
    void store_clock_back();
    // By ours.
    void taken_before_its_time();
    void lost_before_its_time();
    void store_clock_jumps();
    // By the order of questions and answers.
    void dead_lives();
    void ended_twice();
    void fence_not_unique();
    void fence_not_growing();
    void lock_id_of_two_leases();
    void lock_id_nobody_drew();
    void release_all_took_others();
    void release_all_missed_some();
    void refused_but_done();
    void refused_though_free();
    // By what the store remembers.
    void aftermath_two_at_once();
    void aftermath_fences();
    void aftermath_lacks_what_was_told();
    void aftermath_has_what_was_refused();

    const Operations& operations_;
    const Expectations& expectations_;
    const Aftermath* aftermath_;
    Stories stories_;
    std::string rule_{};
    std::vector<Violation> violations_{};
};

const std::vector<Checker::Rule> Checker::rules{
    {"contradicts itself", &Checker::contradicts_itself},
    {"two alive at once", &Checker::two_alive_at_once},
    {"alive after its expiry", &Checker::alive_after_its_expiry},
    {"expiry drawn nearer", &Checker::expiry_drawn_nearer},
    {"store clock goes back", &Checker::store_clock_back},
    {"taken before its time", &Checker::taken_before_its_time},
    {"lost before its time", &Checker::lost_before_its_time},
    {"store clock jumps", &Checker::store_clock_jumps},
    {"dead lives", &Checker::dead_lives},
    {"ended twice", &Checker::ended_twice},
    {"fence not unique", &Checker::fence_not_unique},
    {"fence not growing", &Checker::fence_not_growing},
    {"lock id of two leases", &Checker::lock_id_of_two_leases},
    {"lock id nobody drew", &Checker::lock_id_nobody_drew},
    {"release-all took others", &Checker::release_all_took_others},
    {"release-all missed some", &Checker::release_all_missed_some},
    {"refused but done", &Checker::refused_but_done},
    {"refused though free", &Checker::refused_though_free},
    {"aftermath: two at once", &Checker::aftermath_two_at_once},
    {"aftermath: fences", &Checker::aftermath_fences},
    {"aftermath: lacks what was told", &Checker::aftermath_lacks_what_was_told},
    {"aftermath: has what was refused", &Checker::aftermath_has_what_was_refused},
};

std::vector<Violation> Checker::run() {
    for (const Rule& rule : rules) {
        rule_ = rule.name;
        (this->*rule.check)();
    }
    return std::move(violations_);
}

// ---- what an answer says, by itself ----

void Checker::contradicts_itself() {
    for (const Operation& operation : operations_) {
        for (const Lease& lease : leases_in(operation)) {
            if (lease.expires_at <= lease.store_now)
                report("shown alive after its expiry", {&operation});
            if (lease.granted_at > lease.store_now) report("granted in the future", {&operation});
            if (lease.fence <= 0) report("a fence that is none", {&operation});
        }
        if (const auto* wanted = std::get_if<TryLock>(&operation.request)) {
            if (const auto* lease = std::get_if<Lease>(&operation.outcome)) {
                if (lease->key != wanted->key) report("granted another key", {&operation});
                if (lease->owner != wanted->owner) report("granted to another owner", {&operation});
                if (lease->mode != wanted->mode) report("granted in another mode", {&operation});
                if (wanted->owner.empty() && lease->lock_id != wanted->lock_id) {
                    report("somebody without a name was given another's lease", {&operation});
                }
                const Story& story = stories_.by_id.at(lease->lock_id);
                const bool capped = wanted->max_hold.has_value();
                if (story.tries == 1 && !capped && wanted->ttl != until_released &&
                    lease->remaining() < wanted->ttl) {
                    report("granted for a shorter time than asked", {&operation});
                }
            }
        }
        if (const auto* wanted = std::get_if<Renew>(&operation.request)) {
            const auto* lease = std::get_if<Lease>(&operation.outcome);
            if (lease != nullptr && !wanted->max_hold && wanted->ttl != until_released &&
                lease->remaining() < wanted->ttl) {
                report("renewed for a shorter time than asked", {&operation});
            }
        }
        const auto* refusal = std::get_if<Refusal>(&operation.outcome);
        if (refusal == nullptr || refusal->kind != Refusal::Kind::held) continue;
        if (refusal->holders.empty()) report("held by nobody", {&operation});
        const auto* wanted = std::get_if<TryLock>(&operation.request);
        bool exclusive = false;
        for (const Holder& holder : refusal->holders) {
            exclusive |= holder.mode == Mode::exclusive;
            if (wanted != nullptr && holder.key != wanted->key)
                report("held under another key", {&operation});
        }
        if (wanted != nullptr && exclusive && refusal->holders.size() > 1) {
            report("held alone by several", {&operation});
        }
        if (wanted != nullptr && wanted->mode == Mode::shared && !exclusive &&
            refusal->holders.size() < Limits::shared_holders) {
            report("a share refused although nobody holds it alone", {&operation});
        }
    }
}

// ---- by the store's clock ----

void Checker::two_alive_at_once() {
    struct Span {
        Time from, to;
        bool always_exclusive;
        const Story* story;
    };
    for (const auto& [key, told] : stories_.by_key) {
        std::vector<Span> spans;
        for (const Story* story : told) {
            if (!story->is_seen()) continue;
            Span span{.from = story->alive.front().lease.granted_at,
                      .to = Time::min(),
                      .always_exclusive = story->was_always_exclusive(),
                      .story = story};
            for (const Sighting& seen : story->alive) {
                // Alive when it was seen, and to its expiry if nothing may have ended it.
                span.to = std::max(span.to, !story->may_have_ended() ? seen.lease.expires_at
                                                                     : seen.lease.store_now);
            }
            spans.push_back(span);
        }
        std::ranges::sort(spans, {}, &Span::from);
        // The latest end so far, of any lease and of those nobody may share with.
        const Span* latest = nullptr;
        const Span* latest_exclusive = nullptr;
        for (const Span& span : spans) {
            const Span* other = nullptr;
            if (latest_exclusive != nullptr && latest_exclusive->to > span.from)
                other = latest_exclusive;
            if (span.always_exclusive && latest != nullptr && latest->to > span.from)
                other = latest;
            if (other != nullptr) {
                report(
                    key.to_string() + ": " + to_string(span.from) + " lies in the other's time",
                    {other->story->alive.front().operation, span.story->alive.front().operation});
            }
            if (latest == nullptr || span.to > latest->to) latest = &span;
            if (span.always_exclusive &&
                (latest_exclusive == nullptr || span.to > latest_exclusive->to)) {
                latest_exclusive = &span;
            }
        }
    }
}

void Checker::alive_after_its_expiry() {
    each_seen([&](const Story& story) {
        if (story.may_have_been_prolonged) return;
        for (const Sighting& late : story.alive) {
            Time latest = Time::min();
            for (const Sighting& seen : story.alive) {
                if (&seen != &late && seen.operation->called <= *late.operation->returned) {
                    latest = std::max(latest, seen.lease.expires_at);
                }
            }
            if (latest != Time::min() && late.lease.store_now >= latest) {
                report("shown alive at " + to_string(late.lease.store_now) + ", expired at " +
                           to_string(latest),
                       {late.operation});
            }
        }
    });
}

void Checker::expiry_drawn_nearer() {
    each_seen([&](const Story& story) {
        std::vector<const Sighting*> by_call;
        for (const Sighting& seen : story.alive) by_call.push_back(&seen);
        for (const Sighting* before : by_call) {
            for (const Sighting* after : by_call) {
                if (*before->operation->returned < after->operation->called &&
                    after->lease.expires_at < before->lease.expires_at) {
                    report("its expiry was later before", {before->operation, after->operation});
                }
            }
        }
    });
}

void Checker::store_clock_back() {
    struct Reading {
        Instant called, returned;
        Time time;
        const Operation* operation;
    };
    std::vector<Reading> readings;
    for (const Operation& operation : operations_) {
        if (const auto time = store_time(operation)) {
            readings.push_back({operation.called, *operation.returned, *time, &operation});
        }
    }
    std::vector<Reading> by_return = readings;
    std::ranges::sort(readings, {}, &Reading::called);
    std::ranges::sort(by_return, {}, &Reading::returned);
    const Reading* highest = nullptr;
    auto at = by_return.begin();
    for (const Reading& reading : readings) {
        for (; at != by_return.end() && at->returned < reading.called; ++at) {
            if (highest == nullptr || at->time > highest->time) highest = &*at;
        }
        if (highest != nullptr && reading.time < highest->time) {
            report("it said " + to_string(highest->time) + " and later " + to_string(reading.time),
                   {highest->operation, reading.operation});
        }
    }
}

// ---- by our clock ----

void Checker::taken_before_its_time() {
    if (expectations_.store_clock_leaps) return;
    for (const auto& [key, told] : stories_.by_key) {
        std::vector<const Story*> by_fence;
        for (const Story* story : told) {
            if (story->is_seen()) by_fence.push_back(story);
        }
        std::ranges::sort(by_fence, {},
                          [](const Story* s) { return s->alive.front().lease.granted_at; });
        const Story* longest = nullptr;
        const Story* longest_exclusive = nullptr;
        for (const Story* story : by_fence) {
            const bool exclusive = story->was_always_exclusive();
            const Story* other = exclusive ? longest : longest_exclusive;
            if (other != nullptr &&
                other->alive.front().lease.fence < story->alive.front().lease.fence &&
                story->first_seen() + expectations_.clock_drift < other->alive_until_at_least()) {
                report(
                    key.to_string() + " was granted although another lease could not have run out",
                    {other->alive.front().operation, story->alive.front().operation});
            }
            const auto later = [&](const Story* best) {
                return best == nullptr ||
                       story->alive_until_at_least() > best->alive_until_at_least();
            };
            if (later(longest)) longest = story;
            if (exclusive && later(longest_exclusive)) longest_exclusive = story;
        }
    }
}

void Checker::lost_before_its_time() {
    if (expectations_.store_clock_leaps) return;
    each_seen([&](const Story& story) {
        const Instant until = story.alive_until_at_least();
        for (const Operation* gone : story.gone) {
            if (story.first_seen() < gone->called &&
                *gone->returned + expectations_.clock_drift < until) {
                report("called gone although it could not have run out and nobody had ended it",
                       {story.alive.front().operation, gone});
            }
        }
    });
}

void Checker::store_clock_jumps() {
    // The store's clock minus ours lies between these two.
    auto lowest = Duration::max();
    auto highest = Duration::min();
    const Operation* low = nullptr;
    const Operation* high = nullptr;
    for (const Operation& operation : operations_) {
        const auto time = store_time(operation);
        if (!time) continue;
        const Duration at_least = time->time_since_epoch() - operation.returned->time_since_epoch();
        const Duration at_most = time->time_since_epoch() - operation.called.time_since_epoch();
        if (at_least > highest) highest = at_least, high = &operation;
        if (at_most < lowest) lowest = at_most, low = &operation;
    }
    if (low != nullptr && !expectations_.store_clock_leaps &&
        highest > lowest + expectations_.clock_drift) {
        report("it moved against ours", {low, high});
    }
}

// ---- by the order of questions and answers ----

void Checker::dead_lives() {
    each_seen([&](const Story& story) {
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

void Checker::ended_twice() {
    for (const auto& [id, story] : stories_.by_id) {
        std::vector<const Operation*> ends;
        for (const Operation* end : story.ends) {
            if (!end->is_unknown()) ends.push_back(end);
        }
        if (ends.size() > 1) report("several were told that they ended it", ends);
    }
}

void Checker::fence_not_unique() {
    for (const auto& [key, told] : stories_.by_key) {
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

void Checker::fence_not_growing() {
    struct Grant {
        Instant called, returned;
        Fence fence;
        const Operation* operation;
    };
    for (const auto& [key, told] : stories_.by_key) {
        std::vector<Grant> grants;
        for (const Story* story : told) {
            if (!story->is_seen()) continue;
            // A lease that is converted gets a new fence: the first is that of the grant.
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

void Checker::lock_id_of_two_leases() {
    each_seen([&](const Story& story) {
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

void Checker::lock_id_nobody_drew() {
    each_seen([&](const Story& story) {
        if (!story.asked_for)
            report("an answer has a lock id that nobody asked with",
                   {story.alive.front().operation});
    });
}

void Checker::release_all_took_others() {
    for (const Operation& operation : operations_) {
        const auto* wanted = std::get_if<ReleaseAll>(&operation.request);
        if (wanted == nullptr) continue;
        for (const Lease& lease : leases_in(operation)) {
            if (!belongs_to(lease.owner, wanted->owner, wanted->scope) ||
                (wanted->key && lease.key != *wanted->key)) {
                report("it ended a lease of " + lease.owner, {&operation});
            }
            if (const auto story = stories_.by_id.find(lease.lock_id);
                story != stories_.by_id.end() && story->second.owner != lease.owner) {
                report("it ended a lease of " + story->second.owner, {&operation});
            }
        }
    }
}

void Checker::release_all_missed_some() {
    std::map<std::string, std::vector<const Story*>> owned;
    each_seen([&](const Story& story) { owned[story.owner].push_back(&story); });
    for (const Operation& operation : operations_) {
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

void Checker::refused_but_done() {
    for (const auto& [id, story] : stories_.by_id) {
        if (story.asked_for && story.surely_refused && story.is_seen()) {
            report("each try was refused, and the lease is there", {story.alive.front().operation});
        }
    }
}

void Checker::refused_though_free() {
    std::map<std::pair<LockKey, Fence>, const Story*> by_fence;
    each_seen([&](const Story& story) {
        for (const Sighting& seen : story.alive) by_fence[{story.key, seen.lease.fence}] = &story;
    });
    for (const Operation& operation : operations_) {
        const auto* refusal = std::get_if<Refusal>(&operation.outcome);
        if (refusal == nullptr || refusal->kind != Refusal::Kind::held) continue;
        for (const Holder& holder : refusal->holders) {
            const auto known = by_fence.find({holder.key, holder.fence});
            if (known == by_fence.end()) {
                // Perhaps that of a try whose answer was lost.
                const auto open = stories_.open_tries.find({holder.key, holder.owner});
                if (open == stories_.open_tries.end() ||
                    std::ranges::none_of(open->second, [&](const Operation* unanswered) {
                        return unanswered->called < *operation.returned;
                    })) {
                    report(holder.key.to_string() +
                               " is said to be held by a lease that nobody was granted",
                           {&operation});
                }
            } else if (const Story& story = *known->second;
                       story.alive_until_at_most() < operation.called - expectations_.clock_drift ||
                       story.first_called > *operation.returned) {
                report(holder.key.to_string() + " is said to be held by a lease that is over",
                       {story.alive.front().operation, &operation});
            }
        }
    }
}

// ---- by what the store remembers ----

void Checker::aftermath_two_at_once() {
    if (aftermath_ == nullptr) return;
    struct Span {
        Time from, to;
        Mode mode;
        Fence fence;
    };
    std::map<LockKey, std::vector<Span>> by_key;
    for (const PastLease& past : aftermath_->history) {
        by_key[past.lease.key].push_back({past.lease.since,
                                          std::min(past.ended_at, past.lease.until),
                                          past.lease.mode, past.lease.fence});
    }
    for (const Holder& holder : aftermath_->holders) {
        by_key[holder.key].push_back({holder.since, holder.until, holder.mode, holder.fence});
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

void Checker::aftermath_fences() {
    if (aftermath_ == nullptr) return;
    std::set<std::pair<LockKey, Fence>> seen;
    for (const PastLease& past : aftermath_->history) {
        if (!seen.emplace(past.lease.key, past.lease.fence).second) {
            report(past.lease.key.to_string() + ": the fence " + std::to_string(past.lease.fence) +
                       " ended twice",
                   {});
        }
    }
    for (const Holder& holder : aftermath_->holders) {
        if (seen.contains({holder.key, holder.fence})) {
            report(holder.key.to_string() + ": the fence " + std::to_string(holder.fence) +
                       " ended and lives",
                   {});
        }
    }
}

// A lease that was shown is alive, or it is remembered how it ended, and as it was told.
void Checker::aftermath_lacks_what_was_told() {
    if (aftermath_ == nullptr) return;
    std::map<std::pair<LockKey, Fence>, const PastLease*> past;
    for (const PastLease& lease : aftermath_->history)
        past[{lease.lease.key, lease.lease.fence}] = &lease;
    std::set<std::pair<LockKey, Fence>> living;
    for (const Holder& holder : aftermath_->holders) living.emplace(holder.key, holder.fence);
    each_seen([&](const Story& story) {
        const PastLease* ended = nullptr;
        bool lives = false;
        for (const Sighting& seen : story.alive) {
            const std::pair name{story.key, seen.lease.fence};
            if (const auto at = past.find(name); at != past.end()) ended = at->second;
            lives |= living.contains(name);
        }
        // A conversion without an answer has given it a fence that nobody knows.
        const bool may_be_converted =
            stories_.open_tries.contains({story.key, story.owner}) && !story.owner.empty();
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

void Checker::aftermath_has_what_was_refused() {
    if (aftermath_ == nullptr) return;
    std::set<std::pair<LockKey, Fence>> seen;
    each_seen([&](const Story& story) {
        for (const Sighting& one : story.alive) seen.emplace(story.key, one.lease.fence);
    });
    const auto look = [&](const Holder& lease) {
        if (seen.contains({lease.key, lease.fence})) return;
        if (stories_.open_tries.contains({lease.key, lease.owner})) return;
        report(lease.key.to_string() + ": the store has a lease of " + lease.owner +
                   " that nobody was granted",
               {});
    };
    for (const PastLease& past : aftermath_->history) look(past.lease);
    for (const Holder& holder : aftermath_->holders) look(holder);
}

}  // namespace

std::vector<Violation> check(const Operations& operations, const Expectations& expectations,
                             const Aftermath* aftermath) {
    return Checker{operations, expectations, aftermath}.run();
}

std::vector<std::string> rule_names() {
    std::vector<std::string> names;
    for (const Checker::Rule& rule : Checker::rules) names.emplace_back(rule.name);
    return names;
}

}  // namespace leasehold::lab
