#include "conformance/conformance.hpp"

// `since` ("revive"): grants the key only if nobody was granted it after a known fence.
namespace leasehold::conformance {
namespace {

class Since : public ConformanceTest {
protected:
    Result<Lease> revive(const std::string& owner, Fence fence) {
        return locks().try_lock(key_, {.owner = owner, .since = fence});
    }

    const LockKey key_{"Order", "1"};
};

TEST_P(Since, AnExpiredLeaseNobodyTookCanBeRevived) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice", .ttl = 1min}));
    let_pass(2min);
    const Lease again = must(revive("alice", lease.fence));
    EXPECT_GT(again.fence, lease.fence);
    EXPECT_NE(again.lock_id, lease.lock_id);
}

TEST_P(Since, AReleasedOrBrokenLeaseNobodyFollowedCanBeRevived) {
    const Lease released = must(locks().try_lock(key_, {.owner = "alice"}));
    EXPECT_TRUE(granted(locks().release(released.lock_id)));
    const Lease broken = must(revive("alice", released.fence));
    (void)must(locks().break_lock(key_, broken.fence, "admin", ""));
    EXPECT_TRUE(granted(revive("alice", broken.fence)));
}

TEST_P(Since, RefusedAsTakenIfAnotherOwnerHeldTheKeySince) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice", .ttl = 1min}));
    let_pass(2min);
    const Lease bob = must(locks().try_lock(key_, {.owner = "bob"}));
    EXPECT_TRUE(held(revive("alice", lease.fence), {"bob"}));
    EXPECT_TRUE(granted(locks().release(bob.lock_id)));
    EXPECT_TRUE(gone(revive("alice", lease.fence), Gone::taken, "bob"));
    EXPECT_TRUE(locks().holders(key_).empty());
    EXPECT_TRUE(granted(revive("alice", bob.fence)));
}

TEST_P(Since, BlamesNobodyWhoHadItBefore) {
    const auto share = [&](const std::string& owner, Duration ttl) {
        return must(locks().try_lock(key_, {.owner = owner, .mode = Mode::shared, .ttl = ttl}));
    };
    const Lease alice = share("alice", 1min);
    const Lease bob = share("bob", 10min);
    EXPECT_TRUE(granted(locks().release(bob.lock_id)));
    let_pass(2min);
    const auto refused = revive("alice", alice.fence);
    ASSERT_FALSE(granted(refused));
    EXPECT_EQ(refused.error().reason, Gone::taken);
    EXPECT_NE(refused.error().by, "alice") << "it was bob, or somebody whose name is not known";
}

TEST_P(Since, RefusedEvenIfTheOtherOwnersLeaseExpired) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice", .ttl = 1min}));
    let_pass(2min);
    (void)must(locks().try_lock(key_, {.owner = "bob", .ttl = 1min}));
    let_pass(2min);
    EXPECT_TRUE(gone(revive("alice", lease.fence), Gone::taken, "bob"));
}

TEST_P(Since, RefusedAsUnknownWhereTheKeyWasNeverGranted) {
    EXPECT_TRUE(gone(revive("alice", 1), Gone::unknown));
    EXPECT_TRUE(locks().holders(key_).empty());
    EXPECT_TRUE(granted(locks().try_lock(key_, {.owner = "alice"})));
}

TEST_P(Since, RefusedAfterTheKeyWasForgotten) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice"}));
    EXPECT_TRUE(granted(locks().release(lease.lock_id)));
    let_pass(std::chrono::days{3});
    locks().purge();
    EXPECT_FALSE(granted(revive("alice", lease.fence)));
}

TEST_P(Since, ARefusedReviveDoesNotEndTheExpiredLease) {
    (void)must(locks().try_lock(key_, {.owner = "alice"}));
    const Fence old = locks().holders(key_).front().fence;
    EXPECT_EQ(must(locks().release_all("alice")).size(), 1U);
    const Lease bob = must(locks().try_lock(key_, {.owner = "bob", .ttl = 1min}));
    let_pass(2min);
    const std::string before = harness().dump();
    EXPECT_TRUE(gone(revive("alice", old), Gone::taken, "bob"));
    EXPECT_EQ(harness().dump(), before);
    EXPECT_TRUE(gone(locks().check(key_, bob.lock_id), Gone::expired));
}

LEASEHOLD_ON_EVERY_STORE(Since);

}  // namespace
}  // namespace leasehold::conformance
