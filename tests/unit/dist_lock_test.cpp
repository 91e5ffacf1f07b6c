#include <gtest/gtest.h>

#include <leasehold/dist_lock.hpp>

#include "unit/manual_clock.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

class DistLockTest : public ::testing::Test {
protected:
    ManualClock clock;
    LockManager locks{memory_store_on(clock)};
    DistLock jobs{locks};
};

TEST_F(DistLockTest, GrantsAFreeNameToItsOwner) {
    const auto lease = jobs.try_lock("nightly", "host-1", 1min);
    ASSERT_TRUE(lease);
    EXPECT_EQ(lease->key, (LockKey{"dist_lock", "nightly"}));
    EXPECT_EQ(lease->owner, "host-1");
    EXPECT_EQ(lease->remaining(), 1min);
}

TEST_F(DistLockTest, RefusesAnothersName) {
    ASSERT_TRUE(jobs.try_lock("nightly", "host-1", 1min));
    const auto refused = jobs.try_lock("nightly", "host-2", 1min);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, Refusal::Kind::held);
    EXPECT_EQ(refused.error().holders.at(0).owner, "host-1");
    EXPECT_TRUE(jobs.try_lock("hourly", "host-2", 1min));
}

TEST_F(DistLockTest, RenewsItsOwnersName) {
    const auto first = jobs.try_lock("nightly", "host-1", 1min);
    clock.advance(30s);
    const auto again = jobs.try_lock("nightly", "host-1", 1min);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->fence, first->fence);
    EXPECT_EQ(again->remaining(), 1min);
}

TEST_F(DistLockTest, TakesOverAnExpiredName) {
    const auto first = jobs.try_lock("nightly", "host-1", 1min);
    clock.advance(1min);
    const auto second = jobs.try_lock("nightly", "host-2", 1min);
    ASSERT_TRUE(second);
    EXPECT_GT(second->fence, first->fence);
}

TEST_F(DistLockTest, UnlocksItsOwnersName) {
    const auto lease = jobs.try_lock("nightly", "host-1", 1min);
    const auto unlocked = jobs.unlock("nightly", "host-1");
    ASSERT_TRUE(unlocked);
    EXPECT_EQ(unlocked->fence, lease->fence);
    EXPECT_TRUE(jobs.try_lock("nightly", "host-2", 1min));
}

TEST_F(DistLockTest, UnlocksNoOtherNameOfTheOwner) {
    ASSERT_TRUE(jobs.try_lock("nightly", "host-1", 1min));
    ASSERT_TRUE(jobs.try_lock("hourly", "host-1", 1min));
    ASSERT_TRUE(locks.try_lock({"Order", "nightly"}, {.owner = "host-1"}));
    ASSERT_TRUE(jobs.unlock("nightly", "host-1"));
    EXPECT_FALSE(jobs.try_lock("hourly", "host-2", 1min));
    EXPECT_EQ(locks.holders({"Order", "nightly"}).size(), 1U);
}

TEST_F(DistLockTest, TellsAStrangerWhoHoldsTheName) {
    ASSERT_TRUE(jobs.try_lock("nightly", "host-1", 1min));
    const auto refused = jobs.unlock("nightly", "host-2");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, Refusal::Kind::held);
    EXPECT_EQ(refused.error().holders.at(0).owner, "host-1");
    EXPECT_EQ(locks.holders({"dist_lock", "nightly"}).size(), 1U);
}

TEST_F(DistLockTest, AnUnlockByTheWiderOwnerIsAStrangers) {
    ASSERT_TRUE(jobs.try_lock("nightly", "host-1/runner-2", 1min));
    EXPECT_FALSE(jobs.unlock("nightly", "host-1"));
    EXPECT_EQ(locks.holders({"dist_lock", "nightly"}).size(), 1U);
}

TEST_F(DistLockTest, TellsAnOwnerWhoseTimeWasUp) {
    ASSERT_TRUE(jobs.try_lock("nightly", "host-1", 1min));
    clock.advance(1min);
    const auto late = jobs.unlock("nightly", "host-1");
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().kind, Refusal::Kind::gone);
    EXPECT_EQ(late.error().reason, Gone::expired);
}

TEST_F(DistLockTest, TellsAnOwnerWhoHasTakenItsName) {
    ASSERT_TRUE(jobs.try_lock("nightly", "host-1", 1min));
    clock.advance(1min);
    ASSERT_TRUE(jobs.try_lock("nightly", "host-2", 1min));
    const auto held = jobs.unlock("nightly", "host-1");
    ASSERT_FALSE(held);
    EXPECT_EQ(held.error().kind, Refusal::Kind::held);

    ASSERT_TRUE(jobs.unlock("nightly", "host-2"));
    const auto free = jobs.unlock("nightly", "host-1");
    ASSERT_FALSE(free);
    EXPECT_EQ(free.error().kind, Refusal::Kind::gone);
    EXPECT_EQ(free.error().reason, Gone::taken);
    EXPECT_EQ(free.error().by, "host-2");
}

TEST_F(DistLockTest, TellsAnOwnerWhoBrokeItsLease) {
    const auto lease = jobs.try_lock("nightly", "host-1", 1min);
    ASSERT_TRUE(locks.break_lock(lease->key, lease->fence, "root", "stuck"));
    const auto refused = jobs.unlock("nightly", "host-1");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().reason, Gone::broken);
    EXPECT_EQ(refused.error().by, "root");
    EXPECT_EQ(refused.error().why, "stuck");
}

TEST_F(DistLockTest, UnlockingTwiceOrWhatNeverWasIsAnAnswer) {
    ASSERT_TRUE(jobs.try_lock("nightly", "host-1", 1min));
    ASSERT_TRUE(jobs.unlock("nightly", "host-1"));
    EXPECT_EQ(jobs.unlock("nightly", "host-1").error().reason, Gone::released);
    EXPECT_EQ(jobs.unlock("nightly", "host-2").error().reason, Gone::unknown);
    EXPECT_EQ(jobs.unlock("never", "host-1").error().reason, Gone::unknown);
}

TEST_F(DistLockTest, EveryRefusalCarriesTheStoresTime) {
    ASSERT_TRUE(jobs.try_lock("nightly", "host-1", 1min));
    EXPECT_EQ(jobs.unlock("nightly", "host-2").error().store_now, clock.now());
    EXPECT_EQ(jobs.unlock("never", "host-2").error().store_now, clock.now());
}

TEST_F(DistLockTest, NeedsANameAndAnOwner) {
    EXPECT_THROW((void)jobs.try_lock("nightly", "", 1min), BadRequest);
    EXPECT_THROW((void)jobs.try_lock("", "host-1", 1min), BadRequest);
    EXPECT_THROW(jobs.unlock("nightly", ""), BadRequest);
    EXPECT_THROW(jobs.unlock("", "host-1"), BadRequest);
}

TEST_F(DistLockTest, NamesOfAnotherTypeAreOtherNames) {
    DistLock reports{locks, "report"};
    ASSERT_TRUE(jobs.try_lock("nightly", "host-1", 1min));
    const auto lease = reports.try_lock("nightly", "host-2", 1min);
    ASSERT_TRUE(lease);
    EXPECT_EQ(lease->key.type(), "report");
}

}  // namespace
}  // namespace leasehold::testing
