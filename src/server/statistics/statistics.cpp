#include "server/statistics/statistics.hpp"

#include <chrono>

namespace leasehold::server {
namespace {

constexpr std::chrono::minutes between_counts{1};

// Whether the holder learns from the refusal that its lease ended without its doing.
bool tells_of_a_loss(const Refusal& refusal) {
    return refusal.kind == Refusal::Kind::gone && is_loss[refusal.reason];
}

}  // namespace

Statistics::Statistics(Clock::time_point now)
    : begun_{now},
      next_count_{now + between_counts},
      hour_{std::chrono::seconds{10}, 360, now},
      day_{std::chrono::minutes{1}, 1440, now},
      hot_{now},
      refused_{refused_kept} {}

void Statistics::add(Clock::time_point now, std::uint64_t Point::* what) {
    ++(hour_.at(now).*what);
    ++(day_.at(now).*what);
}

void Statistics::answered(const Answered& answered) {
    const auto* refusal = std::get_if<Refusal>(&answered.outcome);
    if (refusal != nullptr && answered.recipient == Recipient::nobody) return;
    if (takes(answered.kind)) {
        const auto now = Clock::now();
        const std::lock_guard lock{mutex_};
        if (const auto* lease = std::get_if<Lease>(&answered.outcome)) {
            add(now, &Point::grants);
            hot_.tried(lease->key, HotKeys::Answer::granted, now);
        } else if (const auto* leases = std::get_if<std::vector<Lease>>(&answered.outcome)) {
            for (const Lease& one : *leases) {
                add(now, &Point::grants);
                hot_.tried(one.key, HotKeys::Answer::granted, now);
            }
        } else if (refusal != nullptr && refusal->kind != Refusal::Kind::gone) {
            add(now, &Point::refusals);
            if (refusal->holders.empty()) return;
            // A try of several keys counts for the first key that was held.
            const LockKey& key = refusal->holders.front().key;
            hot_.tried(key, HotKeys::Answer::refused, now);
            refused_.add(key, answered.owner, refusal->store_now);
        }
    } else if (refusal != nullptr && names_own_lease(answered.kind) && tells_of_a_loss(*refusal)) {
        const auto now = Clock::now();
        const std::lock_guard lock{mutex_};
        add(now, &Point::lost);
    }
}

void Statistics::waits(int change) {
    const auto now = Clock::now();
    const std::lock_guard lock{mutex_};
    if (change > 0) add(now, &Point::waits);
    waiters_ += static_cast<std::size_t>(change);
    hour_.waiting(waiters_, now);
    day_.waiting(waiters_, now);
}

void Statistics::counted_held(std::size_t leases) {
    const auto now = Clock::now();
    const std::lock_guard lock{mutex_};
    hour_.at(now).held = leases;
    day_.at(now).held = leases;
}

bool Statistics::count_is_due() {
    const auto now = Clock::now();
    auto due = next_count_.load(std::memory_order_relaxed);
    return now >= due && next_count_.compare_exchange_strong(due, now + between_counts);
}

Statistics::Summary Statistics::summary(Span over, const KeySet& visible) {
    const auto now = Clock::now();
    const std::lock_guard lock{mutex_};
    Series& series = over == Span::hour ? hour_ : day_;
    (void)series.at(now);
    const bool all = visible.has_every_key();
    return {.series = all ? series : series.without_points(),
            .hot_keys = hot_.hottest(hot_keys_shown, now, visible),
            .waiting = all ? waiters_ : 0,
            .now = now,
            .uptime = now - begun_};
}

std::vector<RefusedTries::Entry> Statistics::refused(const std::optional<LockKey>& key,
                                                     const KeySet& visible, std::size_t most) {
    const std::lock_guard lock{mutex_};
    return refused_.latest(key, most, visible);
}

}  // namespace leasehold::server
