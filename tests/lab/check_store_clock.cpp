#include "lab/checks.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace leasehold::lab {
namespace {

void two_alive_at_once(const Evidence& evidence, const Report& report) {
    struct Span {
        Time from, to;
        Fence fence;
        bool always_exclusive;
        const Story* story;
    };
    for (const auto& [key, told] : evidence.stories.by_key) {
        std::vector<Span> spans;
        for (const Story* story : told) {
            if (!story->is_seen()) continue;
            Span span{.from = story->alive.front().lease.granted_at,
                      .to = Time::min(),
                      .fence = story->alive.front().lease.fence,
                      .always_exclusive = story->was_always_exclusive(),
                      .story = story};
            for (const Sighting& seen : story->alive) {
                // It was alive when it was seen, and until its expiry if nothing may have ended it.
                if (!story->may_have_ended()) {
                    span.to = std::max(span.to, seen.lease.expires_at);
                } else if (evidence.expectations.one_clock || seen.is_written()) {
                    span.to = std::max(span.to, seen.lease.store_now);
                }
            }
            spans.push_back(span);
        }
        // While the store's clock stops, two leases may follow each other at the same time.
        std::ranges::sort(spans, {},
                          [](const Span& span) { return std::pair{span.from, span.fence}; });
        // The latest end so far, of any lease and of the leases that cannot be shared.
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

void alive_after_its_expiry(const Evidence& evidence, const Report& report) {
    evidence.each_seen([&](const Story& story) {
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

void expiry_drawn_nearer(const Evidence& evidence, const Report& report) {
    evidence.each_seen([&](const Story& story) {
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

struct Reading {
    Instant called, returned;
    Time time;
    bool binds_others;
    const Operation* operation;
};

void report_times_that_go_back(std::vector<Reading> readings, const Report& report) {
    std::vector<Reading> by_return = readings;
    std::ranges::sort(readings, {}, &Reading::called);
    std::ranges::sort(by_return, {}, &Reading::returned);
    const Reading* highest = nullptr;
    auto at = by_return.begin();
    for (const Reading& reading : readings) {
        for (; at != by_return.end() && at->returned < reading.called; ++at) {
            if (at->binds_others && (highest == nullptr || at->time > highest->time)) {
                highest = &*at;
            }
        }
        if (highest != nullptr && reading.time < highest->time) {
            report("it said " + to_string(highest->time) + " and later " + to_string(reading.time),
                   {highest->operation, reading.operation});
        }
    }
}

void store_clock_back(const Evidence& evidence, const Report& report) {
    if (evidence.expectations.one_clock) {
        std::vector<Reading> readings;
        for (const Operation& operation : evidence.operations) {
            if (const auto time = store_time(operation)) {
                readings.push_back(
                    {operation.called, *operation.returned, *time, true, &operation});
            }
        }
        return report_times_that_go_back(std::move(readings), report);
    }
    std::map<LockKey, std::vector<Reading>> by_key;
    for (const Operation& operation : evidence.operations) {
        for (const Lease& lease : leases_in(operation)) {
            by_key[lease.key].push_back({operation.called, *operation.returned, lease.store_now,
                                         Sighting{&operation, lease}.is_written(), &operation});
        }
    }
    for (auto& [key, readings] : by_key) report_times_that_go_back(std::move(readings), report);
}

}  // namespace

std::vector<Rule> rules_by_store_clock() {
    return {
        {"two alive at once", two_alive_at_once},
        {"alive after its expiry", alive_after_its_expiry},
        {"expiry drawn nearer", expiry_drawn_nearer},
        {"store clock goes back", store_clock_back},
    };
}

}  // namespace leasehold::lab
