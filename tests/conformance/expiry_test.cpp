#include "conformance/conformance.hpp"

// A dead lease stays dead. Extend adds time and renew sets it; neither shortens a lease. Only the
// store's clock decides.
namespace leasehold::conformance {
namespace {

class Expiry : public ConformanceTest {
protected:
    const LockKey key_{"Order", "1"};
};

TEST_P(Expiry, ALeaseLivesUntilItsTimeIsUp) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice", .ttl = 10min}));
    let_pass(9min);
    EXPECT_TRUE(about(must(locks().check(lease.lock_id)).remaining(), 1min));
    EXPECT_TRUE(held(locks().try_lock(key_, {.owner = "bob"}), {"alice"}));
    let_pass(2min);
    EXPECT_TRUE(gone(locks().check(lease.lock_id), Gone::expired));
    EXPECT_TRUE(locks().holders(key_).empty());
}

TEST_P(Expiry, AnExpiredKeyIsTakenOver) {
    (void)must(locks().try_lock(key_, {.owner = "alice", .ttl = 1min}));
    let_pass(2min);
    const Lease next = must(locks().try_lock(key_, {.owner = "bob"}));
    EXPECT_EQ(next.owner, "bob");
    EXPECT_TRUE(held(locks().try_lock(key_, {.owner = "alice"}), {"bob"}));
}

TEST_P(Expiry, ADeadLeaseIsNotRevivedByExtendOrRenew) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice", .ttl = 1min}));
    let_pass(2min);
    EXPECT_TRUE(gone(locks().extend(lease.lock_id, 10min), Gone::expired));
    EXPECT_TRUE(gone(locks().renew(lease.lock_id, 10min), Gone::expired));
    EXPECT_TRUE(gone(locks().check(lease.lock_id), Gone::expired));
    EXPECT_TRUE(granted(locks().try_lock(key_, {.owner = "bob"})));
}

TEST_P(Expiry, ReleasingAnExpiredLeaseSaysThatItWasLost) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice", .ttl = 1min}));
    let_pass(2min);
    EXPECT_TRUE(gone(locks().release(lease.lock_id), Gone::expired));
    EXPECT_TRUE(gone(locks().release(lease.lock_id), Gone::expired));
}

TEST_P(Expiry, ExtendAddsToTheExpiry) {
    const Lease lease = must(locks().try_lock(key_, {.ttl = 10min}));
    const Lease once = must(locks().extend(key_, lease.lock_id, 5min));
    EXPECT_EQ(once.expires_at, lease.expires_at + 5min);
    const Lease twice = must(locks().extend(lease.lock_id, 100ms));
    EXPECT_EQ(twice.expires_at, lease.expires_at + 5min + 100ms);
    EXPECT_EQ(twice.fence, lease.fence);
    EXPECT_EQ(twice.granted_at, lease.granted_at);
    let_pass(14min);
    EXPECT_TRUE(granted(locks().check(lease.lock_id)));
}

TEST_P(Expiry, ExtendReachesNoFurtherThanTheLongestTtlFromNow) {
    const auto locks = manager({.max_ttl = 30min});
    const Lease lease = must(locks->try_lock(key_, {.ttl = 20min}));
    const Lease once = must(locks->extend(lease.lock_id, 30min));
    EXPECT_TRUE(about(once.remaining(), 30min));
    EXPECT_LE(once.remaining(), 30min);
    const Lease twice = must(locks->extend(lease.lock_id, 30min));
    EXPECT_GE(twice.expires_at, once.expires_at);
    EXPECT_LE(twice.remaining(), 30min);
}

TEST_P(Expiry, ExtendNeverShortensALeaseBeyondTheBound) {
    const Lease lease = must(locks().try_lock(key_, {.ttl = 2h}));
    const auto strict = manager({.max_ttl = 30min});
    EXPECT_EQ(must(strict->extend(lease.lock_id, 1min)).expires_at, lease.expires_at);
}

TEST_P(Expiry, RenewSetsTheExpiryFromNow) {
    const Lease lease = must(locks().try_lock(key_, {.ttl = 10min}));
    let_pass(8min);
    const Lease renewed = must(locks().renew(key_, lease.lock_id, 10min));
    EXPECT_TRUE(about(renewed.remaining(), 10min));
    EXPECT_EQ(renewed.fence, lease.fence);
    EXPECT_EQ(renewed.lock_id, lease.lock_id);
    let_pass(8min);
    EXPECT_TRUE(granted(locks().renew(lease.lock_id, 10min)));
    let_pass(11min);
    EXPECT_TRUE(gone(locks().renew(lease.lock_id, 10min), Gone::expired));
}

TEST_P(Expiry, RenewNeverShortens) {
    const Lease lease = must(locks().try_lock(key_, {.ttl = 1h}));
    const Lease renewed = must(locks().renew(lease.lock_id, 1min));
    EXPECT_EQ(renewed.expires_at, lease.expires_at);
    EXPECT_EQ(must(locks().check(lease.lock_id)).expires_at, lease.expires_at);
}

TEST_P(Expiry, EveryMicrosecondOfATtlCounts) {
    for (int i = 0; i < 20; ++i) {
        const LockKey key{"Order", "short " + std::to_string(i)};
        const Duration wanted = 59s + 900ms + Duration{i * 37 + 1};
        const Lease lease = must(locks().try_lock(key, {.ttl = wanted}));
        EXPECT_EQ(lease.expires_at - lease.granted_at, wanted);
        const Lease longer = must(locks().extend(lease.lock_id, 123457us));
        EXPECT_EQ(longer.expires_at - longer.granted_at, wanted + 123457us);
        EXPECT_EQ(must(locks().check(lease.lock_id)).expires_at, longer.expires_at);
    }
}

TEST_P(Expiry, ASubSecondLeaseExpiresAndIsTakenOver) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice", .ttl = 900ms}));
    let_pass(901ms);
    EXPECT_TRUE(gone(locks().check(lease.lock_id), Gone::expired));
    EXPECT_TRUE(granted(locks().try_lock(key_, {.owner = "bob"})));
}

TEST_P(Expiry, AnEndlessLeaseLivesUntilItIsReleased) {
    const auto locks = manager({.allow_endless = true});
    const Lease lease = must(locks->try_lock(key_, {.owner = "alice", .ttl = until_released}));
    EXPECT_EQ(lease.expires_at, never);
    EXPECT_EQ(lease.remaining(), std::nullopt);
    let_pass(std::chrono::days{3000});
    const auto refused = locks->try_lock(key_, {.owner = "bob"});
    ASSERT_TRUE(held(refused, {"alice"}));
    EXPECT_EQ(refused.error().holders.front().expires_at, never);
    EXPECT_EQ(must(locks->check(lease.lock_id)).expires_at, never);
    EXPECT_EQ(must(locks->extend(lease.lock_id, 1h)).expires_at, never);
    EXPECT_EQ(must(locks->renew(lease.lock_id, 1h)).expires_at, never);
    EXPECT_TRUE(granted(locks->release(lease.lock_id)));
    EXPECT_TRUE(granted(locks->try_lock(key_, {.owner = "bob"})));
}

TEST_P(Expiry, AnEndlessLeaseCanBeBrokenAndALeaseCanBecomeEndless) {
    const auto locks = manager({.allow_endless = true});
    const Lease lease = must(locks->try_lock(key_, {.owner = "alice", .ttl = 1min}));
    EXPECT_EQ(must(locks->renew(lease.lock_id, until_released)).expires_at, never);
    let_pass(1h);
    const Lease broken = must(locks->break_lock(key_, lease.fence, "admin", "gone"));
    EXPECT_EQ(broken.expires_at, never);
    EXPECT_TRUE(granted(locks->try_lock(key_, {.owner = "bob"})));
}

TEST_P(Expiry, SharedLeasesCanBeEndlessToo) {
    const auto locks = manager({.allow_endless = true});
    const Lease lease = must(
        locks->try_lock(key_, {.owner = "alice", .mode = Mode::shared, .ttl = until_released}));
    (void)must(locks->try_lock(key_, {.owner = "bob", .mode = Mode::shared, .ttl = 1min}));
    let_pass(1h);
    EXPECT_TRUE(held(locks->try_lock(key_, {.owner = "carol"}), {"alice"}));
    EXPECT_EQ(must(locks->check(key_, lease.lock_id)).expires_at, never);
}

TEST_P(Expiry, NoLeaseIsHeldLongerThanMaxHoldInAll) {
    const auto locks = manager({.max_hold = 30min});
    const Lease lease = must(locks->try_lock(key_, {.owner = "alice", .ttl = 20min}));
    EXPECT_EQ(must(locks->extend(lease.lock_id, 20min)).expires_at, lease.granted_at + 30min);
    EXPECT_EQ(must(locks->renew(lease.lock_id, 2h)).expires_at, lease.granted_at + 30min);
    EXPECT_EQ(must(locks->try_lock(key_, {.owner = "alice", .ttl = 2h})).expires_at,
              lease.granted_at + 30min);
    let_pass(29min);
    EXPECT_TRUE(granted(locks->renew(lease.lock_id, 20min)));
    let_pass(2min);
    EXPECT_TRUE(gone(locks->renew(lease.lock_id, 20min), Gone::expired));
    EXPECT_TRUE(granted(locks->try_lock(key_, {.owner = "bob"})));
}

TEST_P(Expiry, MaxHoldBoundsTheFirstTtlAndEndlessLeasesToo) {
    const auto locks = manager({.max_hold = 30min, .allow_endless = true});
    const Lease lease = must(locks->try_lock(key_, {.ttl = 2h}));
    EXPECT_EQ(lease.expires_at, lease.granted_at + 30min);
    const Lease endless = must(locks->try_lock({"Order", "2"}, {.ttl = until_released}));
    EXPECT_EQ(endless.expires_at, endless.granted_at + 30min);
    EXPECT_EQ(must(locks->renew(endless.lock_id, until_released)).expires_at,
              endless.granted_at + 30min);
}

TEST_P(Expiry, ARequestCanAskForALowerMaxHold) {
    const auto locks = manager({.max_hold = 1h});
    const LockOptions options{.owner = "alice", .ttl = 20min, .max_hold = 30min};
    const Lease lease = must(locks->try_lock(key_, options));
    EXPECT_EQ(lease.expires_at, lease.granted_at + 20min);
    let_pass(15min);
    const auto lives_for = [](const Lease& one) { return one.expires_at - one.granted_at; };
    EXPECT_EQ(lives_for(must(locks->try_lock(key_, options))), 30min);
    EXPECT_EQ(lives_for(must(locks->renew(key_, lease.lock_id, 20min, 30min))), 30min);
    // It is not kept with the lease: a later request may ask for more, up to the limit.
    EXPECT_EQ(lives_for(must(locks->renew(lease.lock_id, 2h, 2h))), 1h);

    const std::vector<Lease> several = must(
        locks->try_lock_all({{"Order", "2"}, {"Order", "3"}}, {.ttl = 50min, .max_hold = 40min}));
    for (const Lease& one : several) EXPECT_EQ(lives_for(one), 40min);
    const LockOptions waiting{.ttl = 50min, .max_hold = 40min};
    EXPECT_EQ(lives_for(must(locks->lock_for({"Order", "4"}, 1min, waiting))), 40min);
}

TEST_P(Expiry, ANewGrantOfTheSameOwnerStartsItsHoldAnew) {
    const auto locks = manager({.max_hold = 30min});
    (void)must(locks->try_lock(key_, {.owner = "alice", .ttl = 30min}));
    let_pass(31min);
    const Lease again = must(locks->try_lock(key_, {.owner = "alice", .ttl = 20min}));
    EXPECT_EQ(again.expires_at, again.granted_at + 20min);
    EXPECT_EQ(must(locks->renew(again.lock_id, 2h)).expires_at, again.granted_at + 30min);
}

LEASEHOLD_ON_EVERY_STORE(Expiry);

}  // namespace
}  // namespace leasehold::conformance
