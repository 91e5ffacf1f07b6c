#include <gtest/gtest.h>

#include <chrono>

#include "unit/rules_bench.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

TEST(Rules, WhichModesExcludeEachOther) {
    struct Row {
        Mode held;
        Mode wanted;
        bool granted;
    };
    for (const Row& row :
         {Row{Mode::exclusive, Mode::exclusive, false}, Row{Mode::exclusive, Mode::shared, false},
          Row{Mode::shared, Mode::exclusive, false}, Row{Mode::shared, Mode::shared, true}}) {
        for (const char* other : {"bob", ""}) {
            RulesBench bench;
            (void)bench.try_lock("alice", row.held);
            EXPECT_EQ(is_granted(bench.try_lock(other, row.wanted)), row.granted)
                << to_string(row.held) << ", then " << to_string(row.wanted) << " by " << other;
        }
    }
}

TEST(Rules, ARefusalNamesEveryHolderInTheWay) {
    RulesBench bench;
    (void)bench.try_lock("alice", Mode::shared);
    (void)bench.try_lock("bob", Mode::shared);
    const Outcome outcome = bench.try_lock("carol", Mode::exclusive);
    ASSERT_TRUE(is_held(outcome));
    EXPECT_EQ(refused(outcome).holders, bench.holders());
    EXPECT_EQ(refused(outcome).holders.size(), 2U);
    EXPECT_EQ(refused(outcome).store_now, RulesBench::start);
}

TEST(Rules, ConversionDependsOnWhoElseIsThere) {
    struct Row {
        Mode held;
        Mode wanted;
        bool alone;
        bool converted;
    };
    for (const Row& row : {Row{Mode::shared, Mode::exclusive, true, true},
                           Row{Mode::shared, Mode::exclusive, false, false},
                           Row{Mode::exclusive, Mode::shared, true, true}}) {
        RulesBench bench;
        const Lease before = granted(bench.try_lock("alice", row.held));
        if (!row.alone) (void)bench.try_lock("bob", Mode::shared);
        const Outcome outcome = bench.try_lock("alice", row.wanted);
        ASSERT_EQ(is_granted(outcome), row.converted);
        if (!row.converted) {
            ASSERT_EQ(refused(outcome).holders.size(), 1U);
            EXPECT_EQ(refused(outcome).holders[0].owner, "bob");
            EXPECT_TRUE(is_granted(bench.check(before)));
            continue;
        }
        EXPECT_EQ(granted(outcome).lock_id, before.lock_id);
        EXPECT_EQ(granted(outcome).mode, row.wanted);
        EXPECT_EQ(granted(outcome).granted_at, before.granted_at);
        if (row.wanted == Mode::exclusive) {
            EXPECT_GT(granted(outcome).fence, before.fence);
        } else {
            EXPECT_EQ(granted(outcome).fence, before.fence);
        }
        EXPECT_EQ(bench.cell.grants.size(), 1U);
    }
}

TEST(Rules, BecomingExclusiveEndsSharedLeasesThatRanOut) {
    RulesBench bench;
    const Lease bob = granted(bench.try_lock("bob", Mode::shared, 1s));
    (void)bench.try_lock("alice", Mode::shared);
    bench.pass(1s);
    ASSERT_TRUE(is_granted(bench.try_lock("alice", Mode::exclusive)));
    EXPECT_EQ(bench.cell.grants.size(), 1U);
    ASSERT_EQ(bench.endings.size(), 1U);
    EXPECT_EQ(bench.endings[0].ending->how, Gone::taken);
    EXPECT_EQ(bench.endings[0].ending->by, "alice");
    EXPECT_TRUE(is_gone(bench.check(bob), Gone::taken));
}

TEST(Rules, TheSameOwnerGetsItsLeaseBackRenewed) {
    RulesBench bench;
    const Lease first = granted(bench.try_lock("alice", Mode::exclusive, 1min));
    bench.pass(30s);
    const Lease second = granted(bench.try_lock("alice", Mode::exclusive, 1min));
    EXPECT_EQ(second.lock_id, first.lock_id);
    EXPECT_EQ(second.fence, first.fence);
    EXPECT_EQ(second.granted_at, first.granted_at);
    EXPECT_EQ(second.expires_at, first.expires_at + 30s);
    const Lease shorter = granted(bench.try_lock("alice", Mode::exclusive, 1s));
    EXPECT_EQ(shorter.expires_at, second.expires_at);
}

TEST(Rules, AnonymousHoldersAreStrangersToEachOther) {
    RulesBench bench;
    (void)bench.try_lock("");
    EXPECT_TRUE(is_held(bench.try_lock("")));
}

TEST(Rules, RepeatingARequestGivesTheSameLease) {
    RulesBench bench;
    const TryLock request{.key = bench.key, .lock_id = LockId::random(), .ttl = 1min};
    const Lease first = granted(bench.decide(request));
    bench.pass(10s);
    const Lease again = granted(bench.decide(request));
    EXPECT_EQ(again.fence, first.fence);
    EXPECT_EQ(again.expires_at, first.expires_at);
    EXPECT_EQ(again.store_now, first.store_now + 10s);
    bench.pass(1min);
    EXPECT_TRUE(is_gone(bench.decide(request), Gone::expired));
    (void)bench.try_lock("bob");
    EXPECT_TRUE(is_gone(bench.decide(request), Gone::taken));
}

TEST(Rules, ALeaseIsHeldForMaxHoldAtMost) {
    const LockId mine = LockId::random();
    RulesBench bench;
    const auto take = [&](Duration ttl) {
        return granted(bench.decide(TryLock{
            .key = bench.key, .lock_id = mine, .owner = "alice", .ttl = ttl, .max_hold = 1h}));
    };
    const Time end = RulesBench::start + 1h;
    EXPECT_EQ(take(2h).expires_at, end);
    bench.pass(30min);
    EXPECT_EQ(granted(bench.decide(Renew{bench.key, mine, 2h, 1h})).expires_at, end);
    EXPECT_EQ(granted(bench.decide(Extend{bench.key, mine, 2h, 24h, 1h})).expires_at, end);
    EXPECT_EQ(granted(bench.try_lock("alice", Mode::exclusive, 10min)).expires_at, end);
    const Outcome endless = bench.decide(Renew{bench.key, mine, until_released, 1h});
    EXPECT_EQ(granted(endless).expires_at, end);
    bench.pass(30min);
    EXPECT_TRUE(is_gone(bench.decide(Renew{bench.key, mine, 2h, 1h}), Gone::expired));
}

TEST(Rules, AMaxHoldThatWasLoweredDoesNotShortenALease) {
    RulesBench bench;
    const Lease lease = granted(bench.try_lock("alice", Mode::exclusive, 2h));
    const Outcome renewed = bench.decide(Renew{bench.key, lease.lock_id, 3h, 1h});
    EXPECT_EQ(granted(renewed).expires_at, lease.expires_at);
}

TEST(Rules, AnExtensionAddsAndIsBoundedAheadOfNow) {
    RulesBench bench;
    const Lease lease = granted(bench.try_lock("alice", Mode::exclusive, 1min));
    const auto extend = [&](Duration by, Duration max_ttl) {
        return granted(bench.decide(Extend{bench.key, lease.lock_id, by, max_ttl, {}})).expires_at;
    };
    EXPECT_EQ(extend(1min, 1h), RulesBench::start + 2min);
    EXPECT_EQ(extend(59min, 1h), RulesBench::start + 1h);
    EXPECT_EQ(extend(1min, 1h), RulesBench::start + 1h);
    bench.pass(10min);
    EXPECT_EQ(extend(1h, 1h), RulesBench::start + 70min);
    EXPECT_EQ(extend(1min, 1min), RulesBench::start + 70min);  // never shortens
}

TEST(Rules, AnEndlessLeaseStaysEndless) {
    RulesBench bench;
    const Lease lease = granted(bench.try_lock("alice", Mode::exclusive, until_released));
    EXPECT_EQ(lease.expires_at, never);
    bench.pass(24h * 365 * 100);
    EXPECT_EQ(granted(bench.renew(lease, 1min)).expires_at, never);
    EXPECT_EQ(granted(bench.decide(Extend{bench.key, lease.lock_id, 1min, 1h, {}})).expires_at,
              never);
    EXPECT_TRUE(is_held(bench.try_lock("bob")));
}

TEST(Rules, AKeyIsSharedByNoMoreThanTheLimit) {
    RulesBench bench;
    for (std::size_t i = 0; i < Limits::shared_holders; ++i) {
        ASSERT_TRUE(is_granted(bench.try_lock("reader-" + std::to_string(i), Mode::shared)));
    }
    const Outcome one_more = bench.try_lock("late", Mode::shared);
    ASSERT_TRUE(is_held(one_more));
    const Refusal no = refused(one_more);
    EXPECT_EQ(no.holders.size(), Limits::named_holders);
    EXPECT_EQ(no.holders_in_all, Limits::shared_holders);
    // A holder may ask again.
    EXPECT_TRUE(is_granted(bench.try_lock("reader-0", Mode::shared)));
    (void)bench.release_all({.owner = "reader-1"});
    EXPECT_TRUE(is_granted(bench.try_lock("late", Mode::shared)));
}

TEST(Rules, ARefusalNamesTheFirstHoldersUpToOneThatDoesNotFit) {
    RulesBench bench;
    const auto share = [&](const std::string& owner, std::size_t note_bytes) {
        TryLock request{.key = bench.key, .lock_id = LockId::random()};
        request.owner = owner;
        request.mode = Mode::shared;
        request.ttl = 1min;
        request.note = std::string(note_bytes, 'n');
        ASSERT_TRUE(is_granted(bench.decide(request)));
    };
    share("first", 1);
    share("large", Limits::named_holders_bytes);
    share("small", 1);
    const Refusal no = refused(bench.try_lock("late"));
    ASSERT_EQ(no.holders.size(), 1U);
    EXPECT_EQ(no.holders[0].owner, "first");
    EXPECT_EQ(no.holders_in_all, 3U);
}

TEST(Rules, LeasesThatRanOutDoNotCountTowardsTheLimit) {
    RulesBench bench;
    for (std::size_t i = 0; i < Limits::shared_holders; ++i) {
        (void)bench.try_lock("", Mode::shared, 1s);
    }
    bench.pass(1s);
    EXPECT_TRUE(is_granted(bench.try_lock("late", Mode::shared)));
    EXPECT_EQ(bench.cell.grants.size(), 1U);
    EXPECT_EQ(bench.endings.size(), Limits::shared_holders);
}

TEST(Rules, SinceGrantsOnlyWhereNobodyCameBetween) {
    RulesBench bench;
    const auto revive = [&](Fence since) {
        return bench.decide(TryLock{.key = bench.key,
                                    .lock_id = LockId::random(),
                                    .owner = "alice",
                                    .ttl = 1min,
                                    .since = since});
    };
    EXPECT_TRUE(is_gone(revive(1), Gone::unknown));

    const Lease first = granted(bench.try_lock("alice"));
    bench.pass(1min);
    const Outcome second = revive(first.fence);
    ASSERT_TRUE(is_granted(second));
    EXPECT_GT(granted(second).fence, first.fence);

    bench.pass(1min);
    (void)bench.release(granted(bench.try_lock("bob")));
    const Outcome late = revive(granted(second).fence);
    ASSERT_TRUE(is_gone(late, Gone::taken));
    EXPECT_EQ(refused(late).by, "bob");
    EXPECT_TRUE(bench.cell.grants.empty());
}

TEST(Rules, EveryChangeIsMarkedAndNothingElseIs) {
    RulesBench bench;
    const auto changes = [&](auto decide) {
        bench.cell.changed = false;
        (void)decide();
        return bench.cell.changed;
    };
    Lease alice{.key = bench.key};
    EXPECT_TRUE(changes([&] { return alice = granted(bench.try_lock("alice")); }));
    EXPECT_FALSE(changes([&] { return bench.check(alice); }));
    EXPECT_FALSE(changes([&] { return bench.try_lock("bob"); }));
    EXPECT_FALSE(changes([&] { return bench.renew(Lease{.key = bench.key}); }));
    EXPECT_FALSE(changes([&] { return bench.holders(); }));
    EXPECT_FALSE(changes([&] { return bench.release_all({.owner = "bob"}); }));
    EXPECT_TRUE(changes([&] { return bench.renew(alice); }));
    EXPECT_TRUE(changes([&] { return bench.release(alice); }));
    EXPECT_FALSE(changes([&] { return bench.release(alice); }));
}

TEST(Rules, OwnersAreMatchedByWholeSteps) {
    struct Row {
        const char* owner;
        OwnerScope scope;
        bool matches;
    };
    for (const Row& row :
         {Row{"alice", OwnerScope::exact, true}, Row{"alice/tab", OwnerScope::exact, false},
          Row{"alice", OwnerScope::below, true}, Row{"alice/tab", OwnerScope::below, true},
          Row{"alice/tab/1", OwnerScope::below, true}, Row{"alice2", OwnerScope::below, false},
          Row{"alic", OwnerScope::below, false}, Row{"", OwnerScope::below, false},
          Row{"Alice", OwnerScope::below, false}}) {
        EXPECT_EQ(owner_matches(row.owner, "alice", row.scope), row.matches) << row.owner;
    }
}

}  // namespace
}  // namespace leasehold::testing
