#include "lab/checks.hpp"

#include <algorithm>

namespace leasehold::lab {
namespace {

void taken_before_its_time(const Evidence& evidence, const Report& report) {
    if (evidence.expectations.store_clock_leaps) return;
    for (const auto& [key, told] : evidence.stories.by_key) {
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
                story->first_seen() + evidence.expectations.clock_drift <
                    other->alive_until_at_least()) {
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

void lost_before_its_time(const Evidence& evidence, const Report& report) {
    if (evidence.expectations.store_clock_leaps) return;
    evidence.each_seen([&](const Story& story) {
        const Instant until = story.alive_until_at_least();
        for (const Operation* gone : story.gone) {
            if (story.first_seen() < gone->called &&
                *gone->returned + evidence.expectations.clock_drift < until) {
                report("called gone although it could not have run out and nobody had ended it",
                       {story.alive.front().operation, gone});
            }
        }
    });
}

void store_clock_jumps(const Evidence& evidence, const Report& report) {
    // The store's clock minus ours lies between these two.
    auto lowest = Duration::max();
    auto highest = Duration::min();
    const Operation* low = nullptr;
    const Operation* high = nullptr;
    for (const Operation& operation : evidence.operations) {
        const auto time = store_time(operation);
        if (!time) continue;
        const Duration at_least = time->time_since_epoch() - operation.returned->time_since_epoch();
        const Duration at_most = time->time_since_epoch() - operation.called.time_since_epoch();
        if (at_least > highest) highest = at_least, high = &operation;
        if (at_most < lowest) lowest = at_most, low = &operation;
    }
    if (low != nullptr && !evidence.expectations.store_clock_leaps &&
        !evidence.expectations.store_clock_lags &&
        highest > lowest + evidence.expectations.clock_drift) {
        report("it moved against ours", {low, high});
    }
}

}  // namespace

std::vector<Rule> rules_by_our_clock() {
    return {
        {"taken before its time", taken_before_its_time},
        {"lost before its time", lost_before_its_time},
        {"store clock jumps", store_clock_jumps},
    };
}

}  // namespace leasehold::lab
