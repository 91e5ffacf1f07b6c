#include <gtest/gtest.h>

#include <chrono>

#include "unit/rules_bench.hpp"

// How the rules treat time: leaps, steps back, and fences that follow the clock.
namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

std::int64_t microseconds(Time time) {
    return time.time_since_epoch().count();
}

TEST(RulesClock, ALeaseThatTrulyExpiredIsTakenOver) {
    RulesBench bench;
    const Lease alice = granted(bench.try_lock("alice", Mode::exclusive, 1min));
    bench.pass(1min - 1us);
    EXPECT_TRUE(is_held(bench.try_lock("bob")));
    EXPECT_TRUE(is_granted(bench.check(alice)));
    bench.pass(1us);
    EXPECT_TRUE(is_gone(bench.check(alice), Gone::expired));
    EXPECT_TRUE(is_granted(bench.try_lock("bob")));
    EXPECT_TRUE(is_gone(bench.check(alice), Gone::taken));
}

TEST(RulesClock, ALeaseThatOnlyLooksExpiredIsNotTakenOver) {
    RulesBench bench;
    const Lease alice = granted(bench.try_lock("alice", Mode::exclusive, 1min));
    bench.pass(10s);
    bench.set_clock_by(1h);
    EXPECT_TRUE(is_leap_fault(bench.try_lock("bob")));
    // Dead is still dead.
    EXPECT_TRUE(is_gone(bench.check(alice), Gone::expired));
    EXPECT_TRUE(is_gone(bench.renew(alice), Gone::expired));
    EXPECT_TRUE(bench.holders().empty());
    bench.pass(50s - 1us);
    EXPECT_TRUE(is_leap_fault(bench.try_lock("bob")));
    bench.pass(1us);
    EXPECT_TRUE(is_granted(bench.try_lock("bob")));
}

TEST(RulesClock, AFaultForALeapChangesNothing) {
    RulesBench bench;
    (void)bench.try_lock("alice");
    bench.cell.changed = false;
    bench.set_clock_by(1h);
    ASSERT_TRUE(is_leap_fault(bench.try_lock("bob")));
    EXPECT_FALSE(bench.cell.changed);
    EXPECT_TRUE(bench.endings.empty());
    ASSERT_EQ(bench.cell.grants.size(), 1U);
    EXPECT_EQ(bench.cell.grants[0].owner, "alice");
}

TEST(RulesClock, ALeaseGrantedAfterTheLeapIsNotConcerned) {
    RulesBench bench;
    bench.set_clock_by(1h);
    (void)bench.try_lock("alice", Mode::exclusive, 10s);
    bench.pass(10s);
    EXPECT_TRUE(is_granted(bench.try_lock("bob")));
}

TEST(RulesClock, ALeapOverAFreeKeyKeepsNobodyOut) {
    RulesBench bench;
    (void)bench.release(granted(bench.try_lock("alice")));
    bench.set_clock_by(1h);
    EXPECT_TRUE(is_granted(bench.try_lock("bob")));
}

TEST(RulesClock, ALeaseThatOutlivesTheLeapIsHeldAsEver) {
    RulesBench bench;
    const Lease alice = granted(bench.try_lock("alice", Mode::exclusive, 2h));
    bench.set_clock_by(1h);
    EXPECT_TRUE(is_held(bench.try_lock("bob")));
    EXPECT_TRUE(is_granted(bench.check(alice)));
}

TEST(RulesClock, ALeapWithinTheBoundIsOrdinaryTime) {
    RulesBench bench;
    (void)bench.try_lock("alice", Mode::exclusive, 4s);
    bench.set_clock_by(5s);
    EXPECT_TRUE(is_granted(bench.try_lock("bob")));
}

TEST(RulesClock, AConversionDoesNotTakeOverALeaseThatOnlyLooksExpired) {
    RulesBench bench;
    (void)bench.try_lock("alice", Mode::shared, 1min);
    (void)bench.try_lock("bob", Mode::shared, 2h);
    bench.set_clock_by(1h);
    EXPECT_TRUE(is_leap_fault(bench.try_lock("bob", Mode::exclusive, 2h)));
    bench.pass(1min);
    EXPECT_TRUE(is_granted(bench.try_lock("bob", Mode::exclusive, 2h)));
}

TEST(RulesClock, ANeighboursRenewalDoesNotHideTheLeap) {
    RulesBench bench;
    (void)bench.try_lock("alice", Mode::shared, 1min);
    const Lease bob = granted(bench.try_lock("bob", Mode::shared, 2h));
    bench.set_clock_by(1h);
    ASSERT_TRUE(is_granted(bench.renew(bob, 2h)));
    ASSERT_TRUE(is_granted(bench.release(bob)));
    EXPECT_TRUE(is_leap_fault(bench.try_lock("carol")));
    bench.pass(1min);
    EXPECT_TRUE(is_granted(bench.try_lock("carol")));
}

TEST(RulesClock, TakingAllIsAFaultWhereOneKeyOnlyLooksExpired) {
    RulesBench bench;
    (void)bench.try_lock("alice", Mode::exclusive, 1min);
    bench.set_clock_by(1h);
    Cell other;
    const TryLockAll both{.keys = {{"A", "1"}, bench.key},
                          .lock_ids = {LockId::random(), LockId::random()},
                          .owner = "bob",
                          .ttl = 1min};
    EXPECT_TRUE(is_leap_fault(bench.decide(both, {&other, &bench.cell})));
    EXPECT_TRUE(other.grants.empty());
    EXPECT_EQ(other.fence, 0);
    bench.pass(1min);
    EXPECT_TRUE(
        std::holds_alternative<std::vector<Lease>>(bench.decide(both, {&other, &bench.cell})));
}

TEST(RulesClock, AKeyIsNotForgottenWhileItsLeaseOnlyLooksExpired) {
    RulesBench bench;
    (void)bench.try_lock("alice", Mode::exclusive, 1min);
    bench.set_clock_by(48h);
    EXPECT_FALSE(bench.forget_if_dead_for(24h));
    EXPECT_TRUE(is_leap_fault(bench.try_lock("bob")));
}

TEST(RulesClock, AKeyTouchedInTheFutureKeepsTimeFromGoingBack) {
    RulesBench bench;
    const Time future = RulesBench::start + 10min;
    bench.cell.touched = future;  // by a server whose clock was ahead
    const Lease alice = granted(bench.try_lock("alice", Mode::exclusive, 1min));
    EXPECT_EQ(alice.granted_at, future);
    EXPECT_EQ(alice.store_now, future);
    EXPECT_EQ(alice.expires_at, future + 1min);
    EXPECT_EQ(bench.cell.touched, future);

    bench.pass(1s);
    const Lease renewed = granted(bench.renew(alice, 2min));
    EXPECT_EQ(renewed.store_now, future);
    EXPECT_EQ(renewed.expires_at, future + 2min);
    ASSERT_TRUE(is_granted(bench.release(alice)));
    EXPECT_EQ(bench.endings.at(0).ending->at, future);
    EXPECT_EQ(granted(bench.try_lock("bob")).granted_at, future);
}

TEST(RulesClock, ADeadLeaseDoesNotLiveAgainWhenTheClockIsSetBack) {
    RulesBench bench;
    const Lease alice = granted(bench.try_lock("alice", Mode::exclusive, 1min));
    bench.pass(61s);
    ASSERT_TRUE(is_gone(bench.check(alice), Gone::expired));
    bench.set_clock_by(-1h);
    EXPECT_TRUE(is_gone(bench.check(alice), Gone::expired));
    EXPECT_TRUE(is_granted(bench.try_lock("bob")));
}

TEST(RulesClock, TheFenceFollowsTheClock) {
    RulesBench bench;
    EXPECT_EQ(granted(bench.try_lock("alice")).fence, microseconds(RulesBench::start));
    EXPECT_EQ(bench.cell.fence, microseconds(RulesBench::start));
    bench.pass(1min);
    EXPECT_EQ(granted(bench.try_lock("bob")).fence, microseconds(RulesBench::start + 1min));
}

TEST(RulesClock, TheFenceGrowsWithinOneMicrosecond) {
    RulesBench bench;
    Fence last = 0;
    for (int i = 0; i < 5; ++i) {
        const Lease lease = granted(bench.try_lock("alice"));
        EXPECT_GT(lease.fence, last);
        last = lease.fence;
        (void)bench.release(lease);
    }
    EXPECT_EQ(last, microseconds(RulesBench::start) + 4);
}

TEST(RulesClock, TheFenceGrowsFromAPreviousOneThatIsAheadOfTheClock) {
    RulesBench bench;
    const Fence ahead = microseconds(RulesBench::start + 24h);
    bench.cell.fence = ahead;
    EXPECT_EQ(granted(bench.try_lock("alice")).fence, ahead + 1);
    EXPECT_EQ(bench.cell.fence, ahead + 1);
}

}  // namespace
}  // namespace leasehold::testing
