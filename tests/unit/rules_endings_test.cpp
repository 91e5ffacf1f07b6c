#include <gtest/gtest.h>

#include <chrono>

#include "unit/rules_bench.hpp"

// How leases end, what is kept of them, and how refusals explain it.
namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

TEST(RulesEndings, AReleaseIsRecordedAndTold) {
    RulesBench bench;
    const Lease lease = granted(bench.try_lock("alice"));
    bench.pass(10s);
    const Lease released = granted(bench.release(lease));
    EXPECT_EQ(released.fence, lease.fence);
    EXPECT_EQ(released.store_now, RulesBench::start + 10s);

    ASSERT_EQ(bench.endings.size(), 1U);
    EXPECT_EQ(bench.endings[0].key, bench.key);
    EXPECT_EQ(bench.endings[0].ending->how, Gone::released);
    EXPECT_EQ(bench.endings[0].ending->at, RulesBench::start + 10s);
    EXPECT_EQ(bench.endings[0].ending->grant.lock_id, lease.lock_id);
    EXPECT_EQ(bench.endings[0].ending->grant.expires_at, lease.expires_at);
    ASSERT_TRUE(bench.cell.last);
    EXPECT_EQ(bench.cell.last->grant.fence, lease.fence);
    EXPECT_TRUE(is_gone(bench.check(lease), Gone::released));
    EXPECT_TRUE(is_gone(bench.release(lease), Gone::released));
    EXPECT_EQ(bench.endings.size(), 1U);
}

TEST(RulesEndings, WithoutHistoryTheLastEndingOfAFreeKeyIsStillTold) {
    RulesBench bench;
    const Lease lease = granted(bench.try_lock("alice"));
    (void)bench.release(lease);
    bench.endings.clear();
    EXPECT_TRUE(is_gone(bench.check(lease), Gone::released));
    (void)bench.try_lock("bob");
    EXPECT_FALSE(bench.cell.last);
    EXPECT_TRUE(is_gone(bench.check(lease), Gone::unknown));
}

TEST(RulesEndings, ATakeOverIsRecordedWithTheNextOwner) {
    RulesBench bench;
    const Lease alice = granted(bench.try_lock("alice", Mode::exclusive, 1s));
    bench.pass(5s);
    (void)bench.try_lock("bob");
    ASSERT_EQ(bench.endings.size(), 1U);
    EXPECT_EQ(bench.endings[0].ending->how, Gone::taken);
    EXPECT_EQ(bench.endings[0].ending->by, "bob");
    EXPECT_EQ(bench.endings[0].ending->at, RulesBench::start + 5s);
    const Outcome told = bench.check(alice);
    EXPECT_TRUE(is_gone(told, Gone::taken));
    EXPECT_EQ(refused(told).by, "bob");
}

TEST(RulesEndings, AReaderThatRanOutWasNotTakenByTheNextReader) {
    RulesBench bench;
    const Lease alice = granted(bench.try_lock("alice", Mode::shared, 1s));
    bench.pass(1s);
    (void)bench.try_lock("bob", Mode::shared);
    const Outcome told = bench.check(alice);
    EXPECT_TRUE(is_gone(told, Gone::expired));
    EXPECT_EQ(refused(told).by, "");
    ASSERT_EQ(bench.endings.size(), 1U);
    EXPECT_EQ(bench.endings[0].ending->how, Gone::expired);
}

TEST(RulesEndings, ABreakIsRecordedWithWhoAndWhy) {
    RulesBench bench;
    const Lease alice = granted(bench.try_lock("alice"));
    const Outcome broken = bench.decide(Break{bench.key, alice.fence, "root", "on holiday"});
    ASSERT_TRUE(is_granted(broken));
    EXPECT_TRUE(granted(broken).lock_id.is_nil());
    EXPECT_EQ(granted(broken).owner, "alice");

    const Outcome told = bench.check(alice);
    EXPECT_TRUE(is_gone(told, Gone::broken));
    EXPECT_EQ(refused(told).by, "root");
    EXPECT_EQ(refused(told).why, "on holiday");
    EXPECT_TRUE(is_granted(bench.try_lock("bob")));
}

TEST(RulesEndings, ABreakEndsExactlyTheLeaseThatWasSeen) {
    RulesBench bench;
    const Lease alice = granted(bench.try_lock("alice", Mode::shared));
    const Lease bob = granted(bench.try_lock("bob", Mode::shared));
    ASSERT_TRUE(is_granted(bench.decide(Break{bench.key, alice.fence, "root", ""})));
    EXPECT_TRUE(is_granted(bench.check(bob)));
    EXPECT_TRUE(is_gone(bench.decide(Break{bench.key, bob.fence + 1, "root", ""}), Gone::unknown));
    EXPECT_TRUE(is_granted(bench.check(bob)));
}

TEST(RulesEndings, ABreakOfALeaseThatHasEndedSaysHow) {
    RulesBench bench;
    const Lease alice = granted(bench.try_lock("alice", Mode::exclusive, 1s));
    const Break seen{bench.key, alice.fence, "root", ""};
    bench.pass(1s);
    EXPECT_TRUE(is_gone(bench.decide(seen), Gone::expired));
    const Lease bob = granted(bench.try_lock("bob"));
    EXPECT_FALSE(is_granted(bench.decide(seen)));
    EXPECT_TRUE(is_granted(bench.check(bob)));
    (void)bench.release(bob);
    EXPECT_TRUE(is_gone(bench.decide(Break{bench.key, bob.fence, "root", ""}), Gone::released));
}

TEST(RulesEndings, ReleasingAllEndsWhatMatchesAndNamesIt) {
    RulesBench bench;
    for (const char* owner : {"alice", "alice/tab", "alicia", "bob", ""}) {
        (void)bench.try_lock(owner, Mode::shared);
    }
    (void)bench.try_lock("alice/short", Mode::shared, 1s);
    bench.pass(1s);
    const auto released = bench.release_all({.owner = "alice", .scope = OwnerScope::below});
    EXPECT_EQ(released.size(), 2U);
    for (const Lease& lease : released) EXPECT_TRUE(is_gone(bench.check(lease), Gone::released));
    EXPECT_EQ(bench.holders().size(), 3U);
    EXPECT_EQ(bench.endings.size(), 2U);
}

TEST(RulesEndings, ALockIdOfAnotherKeyIsUnknownHere) {
    RulesBench bench;
    const Lease alice = granted(bench.try_lock("alice"));
    (void)bench.release(alice);
    bench.endings.at(0).key = LockKey{"Customer", "7"};
    bench.cell = Cell{};
    EXPECT_TRUE(is_gone(bench.check(alice), Gone::unknown));
}

TEST(RulesEndings, TakingAllThatIsRefusedLeavesEveryCellAsItWas) {
    RulesBench bench;
    const Lease held = granted(bench.try_lock("alice"));
    Cell expired;
    const LockKey first{"A", "1"};
    expired.fence = 5;
    expired.grants = {{.lock_id = LockId::random(),
                       .owner = "old",
                       .fence = 5,
                       .granted_at = RulesBench::start - 2min,
                       .expires_at = RulesBench::start - 1min,
                       .note = ""}};
    bench.cell.changed = false;
    const TryLockAll both{.keys = {first, bench.key},
                          .lock_ids = {LockId::random(), LockId::random()},
                          .owner = "bob",
                          .ttl = 1min};
    const Outcome refusal = bench.decide(both, {&expired, &bench.cell});
    ASSERT_TRUE(is_held(refusal));
    ASSERT_EQ(refused(refusal).holders.size(), 1U);
    EXPECT_EQ(refused(refusal).holders[0].owner, "alice");
    EXPECT_FALSE(expired.changed);
    EXPECT_FALSE(bench.cell.changed);
    EXPECT_EQ(expired.fence, 5);
    ASSERT_EQ(expired.grants.size(), 1U);
    EXPECT_EQ(expired.grants[0].owner, "old");
    EXPECT_TRUE(bench.endings.empty());

    (void)bench.release(held);
    const Outcome taken = bench.decide(both, {&expired, &bench.cell});
    ASSERT_TRUE(std::holds_alternative<std::vector<Lease>>(taken));
    EXPECT_EQ(std::get<std::vector<Lease>>(taken).size(), 2U);
    EXPECT_EQ(bench.endings.size(), 2U);
}

TEST(RulesEndings, AKeyIsForgottenOnceItHasBeenFreeForLong) {
    RulesBench bench;
    const Lease alice = granted(bench.try_lock("alice", Mode::exclusive, 1h));
    bench.pass(2h);
    EXPECT_FALSE(bench.forget_if_dead_for(90min));
    EXPECT_TRUE(bench.endings.empty());
    EXPECT_TRUE(bench.forget_if_dead_for(1h));
    ASSERT_EQ(bench.endings.size(), 1U);
    EXPECT_EQ(bench.endings[0].ending->how, Gone::expired);
    EXPECT_EQ(bench.endings[0].ending->at, alice.expires_at);
    EXPECT_TRUE(is_gone(bench.check(alice), Gone::expired));
    EXPECT_GT(granted(bench.try_lock("bob")).fence, alice.fence);
}

TEST(RulesEndings, AReleasedKeyIsForgottenByTheTimeOfItsRelease) {
    RulesBench bench;
    (void)bench.release(granted(bench.try_lock("alice", Mode::exclusive, 24h)));
    bench.pass(1h);
    EXPECT_FALSE(bench.forget_if_dead_for(1h + 1us));
    EXPECT_TRUE(bench.forget_if_dead_for(1h));
    EXPECT_EQ(bench.endings.size(), 1U);
}

TEST(RulesEndings, AKeyWithALivingLeaseIsNotForgotten) {
    RulesBench bench;
    (void)bench.try_lock("alice", Mode::shared, 1s);
    const Lease bob = granted(bench.try_lock("bob", Mode::shared, 48h));
    bench.pass(36h);
    EXPECT_FALSE(bench.forget_if_dead_for(1h));
    EXPECT_TRUE(is_granted(bench.check(bob)));
}

TEST(RulesEndings, WhileSomebodysTransactionIsOnTheKeyATryIsHeldAndTheRestIsBusy) {
    RulesBench bench;
    const Lease alice = granted(bench.try_lock("alice", Mode::exclusive, 1s));
    bench.pass(2s);  // even an expired lease keeps the key
    const Outcome try_lock = bench.blocked(TryLock{.key = bench.key, .ttl = 1min});
    ASSERT_TRUE(is_held(try_lock));
    ASSERT_EQ(refused(try_lock).holders.size(), 1U);
    EXPECT_EQ(refused(try_lock).holders[0].owner, "alice");
    for (const Request& request : {Request{Renew{bench.key, alice.lock_id, 1min, {}}},
                                   Request{Release{bench.key, alice.lock_id}},
                                   Request{Extend{bench.key, alice.lock_id, 1min, 1h, {}}},
                                   Request{Break{bench.key, alice.fence, "root", ""}},
                                   Request{ReleaseAll{.owner = "alice"}}}) {
        const Outcome outcome = bench.blocked(request);
        ASSERT_TRUE(std::holds_alternative<Refusal>(outcome));
        EXPECT_EQ(refused(outcome).kind, Refusal::Kind::busy);
    }
}

TEST(RulesEndings, WhileSomebodysTransactionIsOnASharedKeyAnotherShareIsBusyAndNotHeld) {
    RulesBench bench;
    (void)bench.try_lock("alice", Mode::shared, 1min);
    const Outcome share =
        bench.blocked(TryLock{.key = bench.key, .mode = Mode::shared, .ttl = 1min});
    EXPECT_EQ(refused(share).kind, Refusal::Kind::busy);
    EXPECT_TRUE(is_held(bench.blocked(TryLock{.key = bench.key, .ttl = 1min})));
}

}  // namespace
}  // namespace leasehold::testing
