#include <gtest/gtest.h>

#include <leasehold/coarse_grained.hpp>

#include "unit/manual_clock.hpp"

namespace leasehold::testing {
namespace {

// An address "7/home" belongs to customer 7.
LockKey root_of(const LockKey& member) {
    if (member.type() != "Address") return member;
    return {"Customer", member.id().substr(0, member.id().find('/'))};
}

class CoarseGrainedTest : public ::testing::Test {
protected:
    ManualClock clock;
    LockManager locks{memory_store_on(clock)};
    CoarseGrained aggregates{locks, root_of};
};

TEST_F(CoarseGrainedTest, AMemberLocksItsRoot) {
    EXPECT_EQ(aggregates.root({"Address", "7/home"}), (LockKey{"Customer", "7"}));
    const auto lease = aggregates.try_lock({"Address", "7/home"}, {.owner = "alice"});
    ASSERT_TRUE(lease);
    EXPECT_EQ(lease->key, (LockKey{"Customer", "7"}));
}

TEST_F(CoarseGrainedTest, WhoHoldsOneMemberHoldsThemAll) {
    ASSERT_TRUE(aggregates.try_lock({"Address", "7/home"}, {.owner = "alice"}));
    for (const LockKey& key :
         {LockKey{"Address", "7/work"}, LockKey{"Address", "7/home"}, LockKey{"Customer", "7"}}) {
        const auto refused = aggregates.try_lock(key, {.owner = "bob"});
        ASSERT_FALSE(refused) << key.to_string();
        EXPECT_EQ(refused.error().holders.at(0).owner, "alice");
        EXPECT_TRUE(aggregates.try_lock(key, {.owner = "alice"}));
    }
}

TEST_F(CoarseGrainedTest, OtherAggregatesAreFree) {
    ASSERT_TRUE(aggregates.try_lock({"Address", "7/home"}, {.owner = "alice"}));
    EXPECT_TRUE(aggregates.try_lock({"Address", "8/home"}, {.owner = "bob"}));
    EXPECT_TRUE(aggregates.try_lock({"Order", "7"}, {.owner = "bob"}));
}

TEST_F(CoarseGrainedTest, ALeaseIsProlongedThroughAnyMember) {
    const auto lease = aggregates.try_lock({"Address", "7/home"}, {.owner = "alice", .ttl = 5min});
    ASSERT_TRUE(lease);
    const auto extended = aggregates.extend({"Address", "7/work"}, lease->lock_id, 1min);
    ASSERT_TRUE(extended);
    EXPECT_EQ(extended->expires_at, lease->expires_at + 1min);
    const auto renewed = aggregates.renew({"Customer", "7"}, lease->lock_id, 10min);
    ASSERT_TRUE(renewed);
    EXPECT_EQ(renewed->remaining(), 10min);
    EXPECT_FALSE(aggregates.renew({"Address", "8/home"}, lease->lock_id, 10min));
}

TEST_F(CoarseGrainedTest, ALeaseIsCheckedAndReleasedThroughAnyMember) {
    const auto lease = aggregates.try_lock({"Address", "7/home"}, {.owner = "alice"});
    ASSERT_TRUE(lease);
    EXPECT_TRUE(aggregates.check({"Address", "7/work"}, lease->lock_id));
    EXPECT_TRUE(aggregates.check({"Customer", "7"}, lease->lock_id));
    EXPECT_FALSE(aggregates.check({"Address", "8/home"}, lease->lock_id));
    EXPECT_FALSE(aggregates.release({"Address", "8/home"}, lease->lock_id));
    EXPECT_TRUE(aggregates.release({"Address", "7/work"}, lease->lock_id));
    EXPECT_TRUE(aggregates.try_lock({"Customer", "7"}, {.owner = "bob"}));
}

}  // namespace
}  // namespace leasehold::testing
