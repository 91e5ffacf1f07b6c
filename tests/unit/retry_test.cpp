#include "core/retry.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

TEST(Retry, PausesDoubleUpToTheLongest) {
    Retry retry{{.first_pause = 1ms, .longest_pause = 5ms}};
    std::vector<Duration> pauses;
    for (int i = 0; i < 5; ++i) pauses.push_back(retry.next_pause().value());
    EXPECT_EQ(pauses, (std::vector<Duration>{1ms, 2ms, 4ms, 5ms, 5ms}));
}

TEST(Retry, TheFirstAttemptCounts) {
    Retry retry{{.attempts = 3}};
    EXPECT_TRUE(retry.pause());
    EXPECT_TRUE(retry.pause());
    EXPECT_FALSE(retry.pause());
}

TEST(Retry, NoAttemptBeginsAfterTheDeadline) {
    Retry over{retries::busy_lease, SteadyClock::now()};
    EXPECT_FALSE(over.pause());
    Retry soon{{.first_pause = 1h, .longest_pause = 1h}, SteadyClock::now() + 1min};
    EXPECT_LE(soon.next_pause().value(), 1min);
}

TEST(Retry, RandomPausesAreBetweenHalfAndAll) {
    Retry retry{{.first_pause = 8ms, .longest_pause = 8ms, .pauses = RetryPolicy::Pauses::random}};
    for (int i = 0; i < 100; ++i) {
        const Duration pause = retry.next_pause().value();
        EXPECT_GE(pause, 4ms);
        EXPECT_LE(pause, 8ms);
    }
}

}  // namespace
}  // namespace leasehold::testing
