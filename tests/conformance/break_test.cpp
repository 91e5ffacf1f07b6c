#include "conformance/conformance.hpp"

// A break ends exactly the lease that was seen. Its holder learns who broke it and why.
namespace leasehold::conformance {
namespace {

class Breaking : public ConformanceTest {
protected:
    const LockKey key_{"Order", "1"};
};

TEST_P(Breaking, EndsTheLeaseThatWasSeen) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice", .note = "editing"}));
    const Holder seen = locks().holders(key_).front();
    const Lease broken = must(manager()->break_lock(key_, seen.fence, "admin", "alice is ill"));
    EXPECT_EQ(holder_of(broken), seen);
    EXPECT_EQ(broken.remaining(), Duration::zero());
    EXPECT_TRUE(gone(locks().check(key_, lease.lock_id), Gone::broken, "admin", "alice is ill"));
    EXPECT_TRUE(granted(locks().try_lock(key_, {.owner = "bob"})));
}

TEST_P(Breaking, NeedsTheExactFence) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice"}));
    for (const Fence wrong : {lease.fence - 1, lease.fence + 1, Fence{0}, Fence{-1}}) {
        EXPECT_TRUE(gone(locks().break_lock(key_, wrong, "admin", ""), Gone::unknown)) << wrong;
    }
    EXPECT_TRUE(gone(locks().break_lock({"Order", "2"}, lease.fence, "admin", ""), Gone::unknown));
    EXPECT_EQ(holder_of(must(locks().check(lease.lock_id))), holder_of(lease));
}

TEST_P(Breaking, NeverHitsTheNextHolder) {
    const Lease first = must(locks().try_lock(key_, {.owner = "alice"}));
    EXPECT_TRUE(granted(locks().release(first.lock_id)));
    const Lease second = must(locks().try_lock(key_, {.owner = "bob"}));
    EXPECT_FALSE(granted(locks().break_lock(key_, first.fence, "admin", "")));
    EXPECT_TRUE(granted(locks().check(second.lock_id)));
}

TEST_P(Breaking, OfALeaseThatHasEndedSaysHow) {
    const Lease released = must(locks().try_lock(key_, {.owner = "alice"}));
    EXPECT_TRUE(granted(locks().release(released.lock_id)));
    EXPECT_TRUE(gone(locks().break_lock(key_, released.fence, "admin", ""), Gone::released));

    const Lease broken = must(locks().try_lock(key_, {.owner = "alice"}));
    (void)must(locks().break_lock(key_, broken.fence, "admin", "first"));
    EXPECT_TRUE(gone(locks().break_lock(key_, broken.fence, "root", "second"), Gone::broken,
                     "admin", "first"));

    const Lease expired = must(locks().try_lock(key_, {.owner = "alice", .ttl = 1min}));
    let_pass(2min);
    EXPECT_TRUE(gone(locks().break_lock(key_, expired.fence, "admin", ""), Gone::expired));
}

TEST_P(Breaking, AfterAConversionNeedsTheNewFence) {
    const Lease reader = must(locks().try_lock(key_, {.owner = "alice", .mode = Mode::shared}));
    const Lease writer = must(locks().try_lock(key_, {.owner = "alice"}));
    EXPECT_FALSE(granted(locks().break_lock(key_, reader.fence, "admin", "")));
    EXPECT_TRUE(granted(locks().break_lock(key_, writer.fence, "admin", "")));
    EXPECT_TRUE(gone(locks().check(reader.lock_id), Gone::broken, "admin"));
}

TEST_P(Breaking, IsToldToEveryWayOfAsking) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice"}));
    (void)must(locks().break_lock(key_, lease.fence, "admin", "\u00fcberf\u00e4llig \u23f0"));
    const std::string why = "\u00fcberf\u00e4llig \u23f0";
    EXPECT_TRUE(gone(locks().renew(lease.lock_id, 1min), Gone::broken, "admin", why));
    EXPECT_TRUE(gone(locks().extend(lease.lock_id, 1min), Gone::broken, "admin", why));
    EXPECT_TRUE(gone(locks().release(lease.lock_id), Gone::broken, "admin", why));
    const auto past = locks().history({.key = key_});
    ASSERT_EQ(past.size(), 1U);
    EXPECT_EQ(past.front().how, Gone::broken);
    EXPECT_EQ(past.front().by, "admin");
    EXPECT_EQ(past.front().why, why);
    EXPECT_EQ(past.front().lease, holder_of(lease));
}

TEST_P(Breaking, OfOneReaderLeavesTheOthers) {
    const Lease alice = must(locks().try_lock(key_, {.owner = "alice", .mode = Mode::shared}));
    const Lease bob = must(locks().try_lock(key_, {.owner = "bob", .mode = Mode::shared}));
    (void)must(locks().break_lock(key_, alice.fence, "admin", ""));
    EXPECT_EQ(owners_of(locks().holders(key_)), std::vector<std::string>{"bob"});
    (void)must(locks().break_lock(key_, bob.fence, "admin", ""));
    EXPECT_TRUE(granted(locks().try_lock(key_, {.owner = "carol"})));
}

TEST_P(Breaking, OfAnEarlierReaderIsNotToldTheEndOfTheLast) {
    const Lease alice = must(locks().try_lock(key_, {.owner = "alice", .mode = Mode::shared}));
    const Lease bob = must(locks().try_lock(key_, {.owner = "bob", .mode = Mode::shared}));
    (void)must(locks().break_lock(key_, bob.fence, "admin", ""));
    EXPECT_TRUE(granted(locks().release(key_, alice.lock_id)));
    const auto again = locks().break_lock(key_, bob.fence, "admin", "");
    ASSERT_FALSE(granted(again));
    EXPECT_NE(again.error().reason, Gone::released)
        << "bob's lease was broken, alice's was released";
}

LEASEHOLD_ON_EVERY_STORE(Breaking);

}  // namespace
}  // namespace leasehold::conformance
