#include <algorithm>
#include <atomic>

#include "conformance/conformance.hpp"

// The small classes that are built on the lock manager, on every store.
namespace leasehold::conformance {
namespace {

class DistLocks : public ConformanceTest {
protected:
    DistLock dist_{locks()};
};

TEST_P(DistLocks, AFreeNameIsGrantedAndAnothersRefused) {
    EXPECT_TRUE(granted(dist_.try_lock("nightly report", "host-1", 10min)));
    EXPECT_TRUE(held(dist_.try_lock("nightly report", "host-2", 10min), {"host-1"}));
    EXPECT_TRUE(granted(dist_.try_lock("another job", "host-2", 10min)));
}

TEST_P(DistLocks, TheSameOwnerRenews) {
    const Lease first = must(dist_.try_lock("job", "host-1", 10min));
    let_pass(9min);
    const Lease again = must(dist_.try_lock("job", "host-1", 10min));
    EXPECT_EQ(again.fence, first.fence);
    let_pass(9min);
    EXPECT_TRUE(held(dist_.try_lock("job", "host-2", 10min), {"host-1"}));
}

TEST_P(DistLocks, AnExpiredNameIsTakenOver) {
    (void)must(dist_.try_lock("job", "host-1", 1min));
    let_pass(2min);
    EXPECT_TRUE(granted(dist_.try_lock("job", "host-2", 1min)));
    EXPECT_TRUE(held(dist_.try_lock("job", "host-1", 1min), {"host-2"}));
}

TEST_P(DistLocks, ANameIsLockedAgainAndAgain) {
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(granted(dist_.try_lock("job", "host-1", 1min)));
        EXPECT_TRUE(granted(dist_.unlock("job", "host-1")));
        EXPECT_TRUE(granted(dist_.try_lock("job", "host-2", 1min)));
        EXPECT_TRUE(granted(dist_.unlock("job", "host-2")));
    }
}

TEST_P(DistLocks, AStrangersUnlockIsRefusedWithTheHolder) {
    (void)must(dist_.try_lock("job", "host-1", 1min));
    EXPECT_TRUE(held(dist_.unlock("job", "host-2"), {"host-1"}));
    EXPECT_TRUE(held(dist_.unlock("job", "host"), {"host-1"}));
    EXPECT_TRUE(held(dist_.try_lock("job", "host-2", 1min), {"host-1"}));
}

TEST_P(DistLocks, UnlockingAfterTheEndSaysWhich) {
    EXPECT_TRUE(gone(dist_.unlock("job", "host-1"), Gone::unknown));
    (void)must(dist_.try_lock("job", "host-1", 1min));
    let_pass(2min);
    EXPECT_TRUE(gone(dist_.unlock("job", "host-1"), Gone::expired));
    (void)must(dist_.try_lock("job", "host-2", 1min));
    EXPECT_TRUE(held(dist_.unlock("job", "host-1"), {"host-2"}));
    EXPECT_TRUE(granted(dist_.unlock("job", "host-2")));
    EXPECT_TRUE(gone(dist_.unlock("job", "host-1"), Gone::taken, "host-2"));
    EXPECT_TRUE(gone(dist_.unlock("job", "host-2"), Gone::released));
}

TEST_P(DistLocks, NamesOfDifferentTypesAreDifferentLocks) {
    DistLock others{locks(), "other jobs"};
    EXPECT_TRUE(granted(dist_.try_lock("job", "host-1", 1min)));
    EXPECT_TRUE(granted(others.try_lock("job", "host-2", 1min)));
}

LEASEHOLD_ON_EVERY_STORE(DistLocks);

class Sessions : public ConformanceTest {
protected:
    const LockKey key_{"Order", "1"};
    const LockKey other_{"Order", "2"};
};

TEST_P(Sessions, TheEndOfASessionReleasesAllItHoldsAndNamesIt) {
    Session session{locks(), "alice/session-7"};
    EXPECT_EQ(must(session.try_lock(key_)).owner, "alice/session-7");
    EXPECT_EQ(must(session.try_lock(other_, {.owner = "tab-2"})).owner, "alice/session-7/tab-2");
    (void)must(locks().try_lock({"Order", "3"}, {.owner = "alice/session-77"}));
    (void)must(locks().try_lock({"Order", "4"}, {.owner = "alice"}));
    auto ended = owners_of(must(session.end()));
    std::ranges::sort(ended);
    EXPECT_EQ(ended, (std::vector<std::string>{"alice/session-7", "alice/session-7/tab-2"}));
    EXPECT_EQ(ids_of(locks().list()), (std::vector<std::string>{"3", "4"}));
    EXPECT_TRUE(must(session.end()).empty());
}

TEST_P(Sessions, TheDestructorEndsItToo) {
    {
        Session session{locks(), "alice"};
        EXPECT_TRUE(granted(session.try_lock(key_)));
        EXPECT_TRUE(held(locks().try_lock(key_, {.owner = "bob"}), {"alice"}));
    }
    EXPECT_TRUE(granted(locks().try_lock(key_, {.owner = "bob"})));
}

TEST_P(Sessions, WhatAnotherProcessHoldsForTheSessionEndsWithIt) {
    const auto other = manager();
    (void)must(other->try_lock(key_, {.owner = "alice/worker"}));
    Session session{locks(), "alice"};
    EXPECT_EQ(must(session.end()).size(), 1U);
    EXPECT_TRUE(other->list().empty());
}

TEST_P(Sessions, TwoTabsOfOneSessionExcludeEachOther) {
    Session session{locks(), "alice"};
    EXPECT_TRUE(granted(session.try_lock(key_, {.owner = "tab-1"})));
    EXPECT_TRUE(held(session.try_lock(key_, {.owner = "tab-2"}), {"alice/tab-1"}));
    EXPECT_TRUE(granted(session.try_lock(key_, {.owner = "tab-1"})));
}

TEST_P(Sessions, ALeaseThatTheSessionLostStaysWithTheOneWhoTookIt) {
    Session session{locks(), "alice"};
    (void)must(session.try_lock(key_, {.ttl = 1min}));
    let_pass(2min);
    const Lease bob = must(locks().try_lock(key_, {.owner = "bob"}));
    EXPECT_TRUE(must(session.end()).empty());
    EXPECT_TRUE(granted(locks().check(bob.lock_id)));
}

TEST_P(Sessions, AScopedLockReleasesAtTheEndOfTheScopeUnlessKept) {
    {
        const ScopedLock hold{locks(), must(locks().try_lock(key_, {.owner = "alice"}))};
        EXPECT_TRUE(granted(locks().check(hold.lease().lock_id)));
    }
    EXPECT_TRUE(locks().holders(key_).empty());
    {
        ScopedLock hold{locks(), must(locks().try_lock(key_, {.owner = "alice"}))};
        const Lease kept = std::move(hold).keep();
        EXPECT_EQ(kept.owner, "alice");
    }
    EXPECT_EQ(locks().holders(key_).size(), 1U);
}

TEST_P(Sessions, MembersOfAnAggregateLockTheirRoot) {
    const LockKey customer{"Customer", "7"};
    CoarseGrained aggregate{locks(), [&](const LockKey& member) {
                                return member.type() == "Address" ? customer : member;
                            }};
    const Lease lease = must(aggregate.try_lock({"Address", "1"}, {.owner = "alice"}));
    EXPECT_EQ(lease.key, customer);
    EXPECT_TRUE(held(aggregate.try_lock({"Address", "2"}, {.owner = "bob"}), {"alice"}));
    EXPECT_TRUE(held(aggregate.try_lock(customer, {.owner = "bob"}), {"alice"}));
    EXPECT_TRUE(granted(aggregate.check({"Address", "2"}, lease.lock_id)));
    const Lease extended = must(aggregate.extend({"Address", "2"}, lease.lock_id, 1min));
    EXPECT_EQ(extended.expires_at, lease.expires_at + 1min);
    EXPECT_GT(must(aggregate.renew({"Address", "3"}, lease.lock_id, 5h)).expires_at,
              extended.expires_at);
    EXPECT_TRUE(granted(aggregate.release({"Address", "2"}, lease.lock_id)));
    EXPECT_TRUE(granted(aggregate.try_lock({"Address", "2"}, {.owner = "bob"})));
}

TEST_P(Sessions, AKeptLeaseIsRenewedAndItsLossIsTold) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice", .ttl = 2min}));
    std::atomic<bool> told{false};
    KeepAlive keep{
        locks(), lease, {.ttl = 10min, .every = 5ms, .on_lost = [&](const KeepAlive::Loss& loss) {
                             const auto* refusal = std::get_if<Refusal>(&loss);
                             told = refusal != nullptr && refusal->reason == Gone::broken &&
                                    refusal->by == "admin";
                         }}};
    EXPECT_TRUE(eventually([&] { return must(locks().check(lease.lock_id)).remaining() > 5min; }));
    EXPECT_FALSE(keep.lost());
    (void)must(locks().break_lock(key_, lease.fence, "admin", "urgent"));
    EXPECT_TRUE(eventually([&] { return keep.lost() && told; }));
}

LEASEHOLD_ON_EVERY_STORE(Sessions);

}  // namespace
}  // namespace leasehold::conformance
