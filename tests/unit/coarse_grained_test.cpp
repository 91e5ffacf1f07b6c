#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include <leasehold/coarse_grained.hpp>

#include "unit/manual_clock.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

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

TEST_F(CoarseGrainedTest, TheHolderOfOneMemberHoldsThemAll) {
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
    const auto bounded = aggregates.renew({"Address", "7/work"}, lease->lock_id, 1h, 20min);
    ASSERT_TRUE(bounded);
    EXPECT_EQ(bounded->expires_at, lease->granted_at + 20min);
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

// In place of a store's own type, such as PGconn.
struct Transaction {
    std::vector<std::string> asked{};
};

Result<Lease> ask(Transaction* transaction, const LockKey& key, LockId lock_id,
                  Duration busy_patience) {
    transaction->asked.push_back(
        key.to_string() + " for " +
        std::to_string(
            std::chrono::duration_cast<std::chrono::milliseconds>(busy_patience).count()) +
        " ms");
    return Lease{.key = key, .lock_id = lock_id};
}

TEST_F(CoarseGrainedTest, InATransactionTheRootIsGuardedAndReleased) {
    Transaction transaction;
    const LockId lock_id = LockId::random();
    const auto guarded = aggregates.guard(ask, &transaction, {"Address", "7/home"}, lock_id, 5ms);
    ASSERT_TRUE(guarded);
    EXPECT_EQ(guarded->lock_id, lock_id);
    EXPECT_TRUE(aggregates.release(ask, &transaction, {"Address", "7/work"}, lock_id, 7ms));
    EXPECT_TRUE(aggregates.guard(ask, &transaction, {"Order", "1"}, lock_id, 9ms));
    EXPECT_EQ(transaction.asked,
              (std::vector<std::string>{"Customer/7 for 5 ms", "Customer/7 for 7 ms",
                                        "Order/1 for 9 ms"}));
}

}  // namespace
}  // namespace leasehold::testing
