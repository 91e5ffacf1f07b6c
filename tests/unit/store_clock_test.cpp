#include "core/store_clock.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

// A store's clock and our steady one, both moved by hand; each reading takes `answer_takes`.
class StoreClockTest : public ::testing::Test {
protected:
    explicit StoreClockTest(Duration max_leap = 5s) : clock{max_leap} {}

    static constexpr Time start{std::chrono::seconds{1'800'000'000}};

    // Lets real time pass; the store's clock follows.
    void pass(Duration time) {
        steady += time;
        store += time;
    }

    Time observe() {
        const auto asked = steady;
        pass(answer_takes);
        return clock.observe(store, asked, steady);
    }

    StoreClock clock;
    Time store = start;
    // Long before the real one, which floor() looks at.
    SteadyClock::time_point steady = SteadyClock::now() - std::chrono::years{1};
    Duration answer_takes = 1ms;
};

TEST_F(StoreClockTest, TheFirstReadingIsTheTime) {
    answer_takes = 0ms;
    EXPECT_EQ(clock.floor(), Time{});
    EXPECT_EQ(observe(), start);
    EXPECT_EQ(clock.floor(), start);
}

TEST_F(StoreClockTest, AGoodClockIsFollowed) {
    for (int i = 0; i < 100; ++i) {
        pass(i * 10s);
        EXPECT_EQ(observe(), store);
    }
    EXPECT_EQ(clock.leapt_since(start), 0s);
}

TEST_F(StoreClockTest, ASmallStepBackStandsStill) {
    const Time before = observe();
    store -= 3s;
    EXPECT_EQ(observe(), before);
    pass(1s);
    EXPECT_EQ(observe(), before);
    pass(3s);
    EXPECT_EQ(observe(), store);
}

TEST_F(StoreClockTest, AStepBackBeyondTheBoundGoesOnByTheSteadyClock) {
    answer_takes = 0ms;
    const Time before = observe();
    store -= 1h;
    pass(10s);
    EXPECT_EQ(observe(), before + 10s);
    pass(20s);
    EXPECT_EQ(observe(), before + 30s);
}

TEST_F(StoreClockTest, AfterAStepBackTheSteadyClockIsCountedAtItsLeast) {
    const Time before = observe();
    store -= 1h;
    answer_takes = 100ms;
    pass(10s);
    // From the answer before to the question now: what surely passed.
    EXPECT_EQ(observe(), before + 10s);
}

TEST_F(StoreClockTest, AfterAStepBackNoTimeIsLostHoweverOftenTheClockIsRead) {
    const Time before = observe();
    store -= 1h;
    answer_takes = 100ms;
    for (int i = 0; i < 100; ++i) (void)observe();
    EXPECT_GE(observe(), before + 10s);
    clock.at_least(before + 11s);
    EXPECT_LT(observe(), before + 12s);
}

TEST_F(StoreClockTest, AClockThatIsSetRightAgainAfterAStepBackHasNotLeapt) {
    (void)observe();
    store -= 1h;
    pass(10s);
    (void)observe();
    store += 1h;
    pass(10s);
    EXPECT_EQ(observe(), store);
    EXPECT_EQ(clock.leapt_since(start), 0s);
}

TEST_F(StoreClockTest, ItNeverGoesBackWhateverTheReadings) {
    Time last = observe();
    for (const int seconds : {-1, -10, 20, -3600, 2, 10'800, -5, -6, 0, -86'400}) {
        store += std::chrono::seconds{seconds};
        pass(500ms);
        const Time now = observe();
        EXPECT_GE(now, last);
        EXPECT_GE(now, store);
        EXPECT_GE(clock.floor(), now);
        last = now;
    }
}

TEST_F(StoreClockTest, AfterAStepBackTheFloorRisesWithTheSteadyClock) {
    answer_takes = 0ms;
    steady = SteadyClock::now() - 20s;
    const Time before = observe();
    store -= 1h;
    pass(1s);
    (void)observe();
    EXPECT_GE(clock.floor(), before + 20s);
}

TEST_F(StoreClockTest, NoLaterTimeIsBelowTheFloor) {
    answer_takes = 0ms;
    steady = SteadyClock::now() - 20s;
    (void)observe();
    store -= 1h;
    pass(1s);
    (void)observe();
    const Time floor = clock.floor();
    // Set right again, but for a bit.
    steady = SteadyClock::now();
    store = floor - 3s;
    EXPECT_GE(observe(), floor);
}

TEST_F(StoreClockTest, ALeapBeyondTheBoundIsRecorded) {
    answer_takes = 0ms;
    const Time before = observe();
    store += 60s;
    pass(1s);
    const Time after = observe();
    EXPECT_EQ(after, before + 61s);
    EXPECT_EQ(clock.leapt_since(before), 60s);
    EXPECT_EQ(clock.leapt_since(after - 1us), 60s);
    EXPECT_EQ(clock.leapt_since(after), 0s);
}

TEST_F(StoreClockTest, ALeapWithinTheBoundIsNone) {
    answer_takes = 0ms;
    const Time before = observe();
    store += 5s;
    EXPECT_EQ(observe(), before + 5s);
    EXPECT_EQ(clock.leapt_since(before), 0s);
}

class StoreClockWithoutABound : public StoreClockTest {
protected:
    StoreClockWithoutABound() : StoreClockTest{Duration::max()} {}
};

TEST_F(StoreClockWithoutABound, TakesNothingForALeap) {
    const Time before = observe();
    store += std::chrono::years{10};
    EXPECT_EQ(observe(), store);
    const Time ahead = store;
    store = start;
    EXPECT_EQ(observe(), ahead);
    clock.at_least(ahead + std::chrono::years{10});
    EXPECT_EQ(clock.leapt_since(before), 0s);
}

TEST_F(StoreClockTest, ASlowAnswerIsNoLeap) {
    const Time before = observe();
    answer_takes = 30s;
    pass(30s);
    (void)observe();
    EXPECT_EQ(clock.leapt_since(before), 0s);
}

TEST_F(StoreClockTest, ALeapThatSlowAnswersBlurIsCountedAtItsMost) {
    StoreClock slow{5s};
    const SteadyClock::time_point begin{};
    (void)slow.observe(start, begin, begin + 4ms);
    const Time after = slow.observe(start + 1h, begin + 1s, begin + 1s + 4ms);
    // Between the readings passed 996 ms at least.
    EXPECT_EQ(slow.leapt_since(after - 1us), 1h - 996ms);
}

TEST_F(StoreClockTest, LeapsAddUpAndEachCountsOnlyForWhatIsOlder) {
    answer_takes = 0ms;
    const Time first = observe();
    store += 10s;
    const Time second = observe();
    pass(1s);
    store += 20s;
    const Time third = observe();
    EXPECT_EQ(clock.leapt_since(first), 30s);
    EXPECT_EQ(clock.leapt_since(second), 20s);
    EXPECT_EQ(clock.leapt_since(third), 0s);
}

TEST_F(StoreClockTest, ManyLeapsAreAllCounted) {
    answer_takes = 0ms;
    const Time first = observe();
    for (int i = 0; i < 100; ++i) {
        store += 10s;
        (void)observe();
    }
    EXPECT_EQ(clock.leapt_since(first), 1000s);
}

TEST(SteadyClockTest, NeverGoesBack) {
    auto last = SteadyClock::now();
    for (int i = 0; i < 1000; ++i) {
        const auto now = SteadyClock::now();
        EXPECT_GE(now, last);
        last = now;
    }
}

}  // namespace
}  // namespace leasehold::testing
