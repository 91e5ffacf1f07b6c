#include "conformance/conformance.hpp"

// At any instant of the store's clock a key has one live exclusive lease, or any number of live
// shared ones, never both; only the holder ends a lease; checks write nothing.
namespace leasehold::conformance {
namespace {

class Exclusion : public ConformanceTest {
protected:
    const LockKey key_{"Order", "1"};
};

TEST_P(Exclusion, AFreeKeyIsGrantedForFiveMinutesByDefault) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice", .note = "editing"}));
    EXPECT_EQ(lease.key, key_);
    EXPECT_FALSE(lease.lock_id.is_nil());
    EXPECT_EQ(lease.owner, "alice");
    EXPECT_EQ(lease.mode, Mode::exclusive);
    EXPECT_EQ(lease.note, "editing");
    EXPECT_GT(lease.fence, 0);
    EXPECT_LT(lease.fence, Fence{1} << 53);
    EXPECT_EQ(lease.expires_at - lease.granted_at, 5min);
    EXPECT_LE(lease.granted_at, lease.store_now);
    EXPECT_TRUE(about(lease.remaining(), 5min));
}

TEST_P(Exclusion, RefusesASecondExclusiveAndNamesTheHolder) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice/tab-1", .note = "editing"}));
    const auto other = manager();
    const auto refused = other->try_lock(key_, {.owner = "bob"});
    ASSERT_TRUE(held(refused, {"alice/tab-1"}));
    EXPECT_EQ(refused.error().holders.front(), holder_of(lease));
    EXPECT_GE(refused.error().store_now, lease.granted_at);
    EXPECT_NE(refused.error().message().find("held by alice for"), std::string::npos);
}

TEST_P(Exclusion, TwoAnonymousLeasesExcludeEachOther) {
    const Lease first = must(locks().try_lock(key_));
    EXPECT_TRUE(held(locks().try_lock(key_), {""}));
    EXPECT_TRUE(granted(locks().check(first.lock_id)));
}

TEST_P(Exclusion, ARefusedTryLeavesTheHolderUntouched) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice"}));
    EXPECT_TRUE(held(locks().try_lock(key_, {.owner = "bob", .ttl = 1h}), {"alice"}));
    const Lease checked = must(locks().check(key_, lease.lock_id));
    EXPECT_EQ(holder_of(checked), holder_of(lease));
}

TEST_P(Exclusion, OtherKeysStayFree) {
    (void)must(locks().try_lock(key_, {.owner = "alice"}));
    EXPECT_TRUE(granted(locks().try_lock({"Order", "2"}, {.owner = "bob"})));
    EXPECT_TRUE(granted(locks().try_lock({"Customer", "1"}, {.owner = "bob"})));
}

TEST_P(Exclusion, OneOwnerHoldsManyKeysWithDifferentLockIds) {
    const Lease first = must(locks().try_lock({"Order", "1"}, {.owner = "alice"}));
    const Lease second = must(locks().try_lock({"Order", "2"}, {.owner = "alice"}));
    EXPECT_NE(first.lock_id, second.lock_id);
}

TEST_P(Exclusion, AReleasedKeyIsFreeAtOnceForEveryProcess) {
    const auto other = manager();
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice"}));
    const Lease released = must(locks().release(key_, lease.lock_id));
    EXPECT_EQ(holder_of(released), holder_of(lease));
    EXPECT_TRUE(granted(other->try_lock(key_, {.owner = "bob"})));
}

TEST_P(Exclusion, EveryProcessMayUseALockIdItKnows) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice"}));
    const auto other = manager();
    EXPECT_TRUE(granted(other->check(key_, lease.lock_id)));
    EXPECT_TRUE(granted(other->extend(key_, lease.lock_id, 1min)));
    EXPECT_TRUE(granted(other->release(key_, lease.lock_id)));
    EXPECT_TRUE(gone(locks().check(key_, lease.lock_id), Gone::released));
}

TEST_P(Exclusion, ALeaseOutlivesTheProcessThatTookIt) {
    auto first = manager();
    const Lease lease = must(first->try_lock(key_, {.owner = "alice"}));
    first.reset();
    EXPECT_TRUE(held(locks().try_lock(key_, {.owner = "bob"}), {"alice"}));
    EXPECT_TRUE(granted(locks().release(lease.lock_id)));
}

TEST_P(Exclusion, ReleasingTwiceIsHarmlessAndSaysSo) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice"}));
    EXPECT_TRUE(granted(locks().release(lease.lock_id)));
    EXPECT_TRUE(gone(locks().release(lease.lock_id), Gone::released));
    const Lease next = must(locks().try_lock(key_, {.owner = "bob"}));
    EXPECT_TRUE(gone(locks().release(lease.lock_id), Gone::released));
    EXPECT_TRUE(granted(locks().check(next.lock_id)));
}

TEST_P(Exclusion, AStrangersLockIdEndsNothing) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice"}));
    const LockId strange = LockId::random();
    EXPECT_TRUE(gone(locks().release(key_, strange), Gone::unknown));
    EXPECT_TRUE(gone(locks().extend(key_, strange, 1min), Gone::unknown));
    EXPECT_TRUE(gone(locks().renew(key_, strange, 1min), Gone::unknown));
    EXPECT_TRUE(gone(locks().check(key_, strange), Gone::unknown));
    EXPECT_EQ(holder_of(must(locks().check(lease.lock_id))), holder_of(lease));
}

TEST_P(Exclusion, TheLoserOfATakeOverCannotTouchItsSuccessor) {
    const Lease lost = must(locks().try_lock(key_, {.owner = "alice", .ttl = 1min}));
    let_pass(2min);
    const Lease next = must(locks().try_lock(key_, {.owner = "bob", .ttl = 10min}));
    EXPECT_TRUE(gone(locks().check(key_, lost.lock_id), Gone::taken, "bob"));
    EXPECT_TRUE(gone(locks().extend(key_, lost.lock_id, 1min), Gone::taken, "bob"));
    EXPECT_TRUE(gone(locks().renew(key_, lost.lock_id, 1min), Gone::taken, "bob"));
    EXPECT_TRUE(gone(locks().release(key_, lost.lock_id), Gone::taken, "bob"));
    EXPECT_EQ(holder_of(must(locks().check(key_, next.lock_id))), holder_of(next));
}

TEST_P(Exclusion, FencesGrowAcrossReleaseExpiryBreakAndReopening) {
    Fence last = 0;
    const auto grows = [&](const Lease& lease) {
        EXPECT_GT(lease.fence, last);
        last = lease.fence;
        return lease;
    };
    const Lease released = grows(must(locks().try_lock(key_)));
    EXPECT_TRUE(granted(locks().release(released.lock_id)));

    grows(must(locks().try_lock(key_, {.ttl = 1min})));
    let_pass(2min);
    const Lease broken = grows(must(locks().try_lock(key_)));
    EXPECT_TRUE(granted(locks().break_lock(key_, broken.fence, "admin", "")));

    const auto reopened = manager();
    const Lease again = grows(must(reopened->try_lock(key_)));
    EXPECT_TRUE(granted(reopened->release(again.lock_id)));
    grows(must(locks().try_lock(key_)));
}

TEST_P(Exclusion, ManyGrantsInARowHaveStrictlyGrowingFences) {
    Fence last = 0;
    for (int i = 0; i < 100; ++i) {
        const Lease lease = must(locks().try_lock(key_));
        ASSERT_GT(lease.fence, last);
        last = lease.fence;
        ASSERT_TRUE(granted(locks().release(lease.lock_id)));
    }
}

TEST_P(Exclusion, StoreTimeNeverGoesBack) {
    const auto other = manager();
    Time last{};
    for (int i = 0; i < 20; ++i) {
        LockManager& one = i % 2 == 0 ? locks() : *other;
        const Lease lease = must(one.try_lock(key_));
        EXPECT_GE(lease.store_now, last);
        const Lease released = must(one.release(lease.lock_id));
        EXPECT_GE(released.store_now, lease.store_now);
        last = released.store_now;
    }
}

TEST_P(Exclusion, ReadingWritesNothing) {
    const LockKey expired{"Order", "expired"};
    const LockKey shared{"Order", "shared"};
    const Lease dead = must(locks().try_lock(expired, {.owner = "carol", .ttl = 1min}));
    (void)must(locks().try_lock(shared, {.owner = "dave", .mode = Mode::shared, .ttl = 1min}));
    let_pass(2min);
    (void)must(locks().try_lock(shared, {.owner = "erin", .mode = Mode::shared}));
    const Lease live = must(locks().try_lock(key_, {.owner = "alice"}));
    const Lease released = must(locks().try_lock({"Order", "3"}, {.owner = "alice"}));
    EXPECT_TRUE(granted(locks().release(released.lock_id)));

    const std::string before = harness().dump();
    EXPECT_TRUE(granted(locks().check(key_, live.lock_id)));
    EXPECT_TRUE(granted(locks().check(live.lock_id)));
    EXPECT_TRUE(gone(locks().check(expired, dead.lock_id), Gone::expired));
    EXPECT_TRUE(gone(locks().check(dead.lock_id), Gone::expired));
    EXPECT_TRUE(gone(locks().check(released.lock_id), Gone::released));
    EXPECT_TRUE(gone(locks().check(key_, LockId::random()), Gone::unknown));
    EXPECT_TRUE(gone(locks().check({"Order", "never seen"}, LockId::random()), Gone::unknown));
    EXPECT_TRUE(locks().holders(expired).empty());
    EXPECT_EQ(locks().holders(key_).size(), 1U);
    EXPECT_EQ(locks().list().size(), 2U);
    EXPECT_FALSE(locks().history().empty());
    EXPECT_FALSE(locks().history({.key = expired}).empty());
    EXPECT_EQ(harness().dump(), before);
}

TEST_P(Exclusion, ARefusalWritesNothing) {
    const Lease live = must(locks().try_lock(key_, {.owner = "alice"}));
    const std::string before = harness().dump();
    EXPECT_TRUE(held(locks().try_lock(key_, {.owner = "bob"}), {"alice"}));
    EXPECT_TRUE(held(locks().try_lock_all({key_, {"Order", "2"}}, {.owner = "bob"}), {"alice"}));
    EXPECT_TRUE(gone(locks().release(key_, LockId::random()), Gone::unknown));
    EXPECT_TRUE(gone(locks().release({"Order", "2"}, live.lock_id), Gone::unknown));
    EXPECT_EQ(harness().dump(), before);
}

LEASEHOLD_ON_EVERY_STORE(Exclusion);

}  // namespace
}  // namespace leasehold::conformance
