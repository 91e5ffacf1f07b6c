#include <algorithm>
#include <future>

#include "conformance/conformance.hpp"

// Ended leases, the latest first; what a purge forgets and what it must keep.
namespace leasehold::conformance {
namespace {

class PastLeases : public ConformanceTest {
protected:
    Lease lock(const LockKey& key, const std::string& owner, Duration ttl = 5min) {
        return must(locks().try_lock(key, {.owner = owner, .ttl = ttl}));
    }

    Lease lock_and_release(const LockKey& key, const std::string& owner) {
        const Lease lease = lock(key, owner);
        EXPECT_TRUE(granted(locks().release(key, lease.lock_id)));
        return lease;
    }

    static std::vector<std::string> owners(const HistoryPage& page) {
        std::vector<std::string> owners;
        for (const PastLease& past : page) owners.push_back(past.lease.owner);
        return owners;
    }

    static constexpr Duration beyond_retention = std::chrono::hours{25};

    const LockKey key_{"Order", "1"};
    const LockKey other_{"Order", "2"};
};

TEST_P(PastLeases, EveryEndingIsKeptWithHowByAndWhy) {
    const Lease released = lock_and_release(key_, "alice");
    const Lease broken = lock(key_, "bob");
    (void)must(locks().break_lock(key_, broken.fence, "admin", "urgent"));
    const Lease taken = must(locks().try_lock(key_, {.owner = "carol", .ttl = 1min, .note = "n"}));
    let_pass(2min);
    (void)lock(key_, "dave");

    const auto past = locks().history({.key = key_});
    ASSERT_EQ(owners(past), (std::vector<std::string>{"carol", "bob", "alice"}));
    EXPECT_EQ(past[0].how, Gone::taken);
    EXPECT_EQ(past[0].by, "dave");
    EXPECT_EQ(past[0].lease.fence, taken.fence);
    EXPECT_EQ(past[0].lease.note, "n");
    EXPECT_EQ(past[0].lease.expires_at - past[0].lease.granted_at, 1min);
    EXPECT_GE(past[0].ended_at, past[0].lease.expires_at);
    EXPECT_EQ(past[1].how, Gone::broken);
    EXPECT_EQ(past[1].by, "admin");
    EXPECT_EQ(past[1].why, "urgent");
    EXPECT_EQ(past[1].lease.fence, broken.fence);
    EXPECT_EQ(past[2].how, Gone::released);
    EXPECT_EQ(past[2].lease.fence, released.fence);
    EXPECT_EQ(past[2].lease.expires_at - past[2].lease.granted_at, 5min);
    EXPECT_GE(past[2].ended_at, past[2].lease.granted_at);
    EXPECT_GT(past[0].sequence, past[1].sequence);
    EXPECT_GT(past[1].sequence, past[2].sequence);
}

TEST_P(PastLeases, AnExpiredLeaseNobodyTookStandsFirstInItsKeysHistory) {
    (void)lock_and_release(key_, "alice");
    const Lease expired = lock(key_, "bob", 1min);
    EXPECT_EQ(owners(locks().history({.key = key_})), std::vector<std::string>{"alice"});
    let_pass(2min);
    const auto past = locks().history({.key = key_});
    ASSERT_EQ(owners(past), (std::vector<std::string>{"bob", "alice"}));
    EXPECT_EQ(past[0].how, Gone::expired);
    EXPECT_EQ(past[0].lease.fence, expired.fence);
    EXPECT_EQ(past[0].ended_at, past[0].lease.expires_at);
    const auto first = locks().history({.key = key_, .limit = 1});
    EXPECT_EQ(owners(first), std::vector<std::string>{"bob"});
}

TEST_P(PastLeases, AfterATakeOverALeaseStandsInHistoryOnce) {
    (void)lock(key_, "alice", 1min);
    let_pass(2min);
    EXPECT_EQ(locks().history({.key = key_}).size(), 1U);
    (void)lock(key_, "bob");
    EXPECT_EQ(locks().history({.key = key_}).size(), 1U);
    EXPECT_EQ(locks().history().size(), 1U);
}

TEST_P(PastLeases, AReaderThatExpiredIsKeptAsExpired) {
    (void)must(locks().try_lock(key_, {.owner = "alice", .mode = Mode::shared, .ttl = 1min}));
    let_pass(2min);
    (void)must(locks().try_lock(key_, {.owner = "bob", .mode = Mode::shared}));
    const auto past = locks().history({.key = key_});
    ASSERT_EQ(owners(past), std::vector<std::string>{"alice"});
    EXPECT_EQ(past[0].how, Gone::expired);
    EXPECT_EQ(past[0].lease.mode, Mode::shared);
    EXPECT_EQ(past[0].by, "");
}

TEST_P(PastLeases, OfAllKeysIsLatestFirst) {
    (void)lock_and_release(other_, "alice");
    (void)lock_and_release(key_, "bob");
    (void)lock_and_release({"Customer", "1"}, "carol");
    (void)lock_and_release(other_, "dave");
    EXPECT_EQ(owners(locks().history()),
              (std::vector<std::string>{"dave", "carol", "bob", "alice"}));
    EXPECT_EQ(owners(locks().history({.key = other_})),
              (std::vector<std::string>{"dave", "alice"}));
    EXPECT_TRUE(locks().history({.key = LockKey{"Order", "never seen"}}).empty());
}

TEST_P(PastLeases, ComesPageByPage) {
    for (int i = 0; i < 11; ++i) {
        (void)lock_and_release(i % 2 == 0 ? key_ : other_, std::to_string(i));
    }
    for (const std::size_t limit : {1U, 2U, 3U, 11U, 100U}) {
        std::vector<std::string> all;
        std::vector<std::string> of_key;
        History query{.limit = limit};
        for (auto page = locks().history(query); !page.empty(); page = locks().history(query)) {
            EXPECT_LE(page.size(), limit);
            for (const PastLease& past : page) all.push_back(past.lease.owner);
            query.before = page.back().sequence;
        }
        query = {.key = key_, .limit = limit};
        for (auto page = locks().history(query); !page.empty(); page = locks().history(query)) {
            for (const PastLease& past : page) of_key.push_back(past.lease.owner);
            query.before = page.back().sequence;
        }
        EXPECT_EQ(all, (std::vector<std::string>{"10", "9", "8", "7", "6", "5", "4", "3", "2", "1",
                                                 "0"}));
        EXPECT_EQ(of_key, (std::vector<std::string>{"10", "8", "6", "4", "2", "0"}));
    }
}

TEST_P(PastLeases, AnExpiredLeaseThatStandsFirstDoesNotHideThePagesAfterIt) {
    (void)lock_and_release(key_, "alice");
    (void)lock_and_release(key_, "bob");
    (void)lock(key_, "carol", 1min);
    let_pass(2min);
    for (const std::size_t limit : {1U, 2U, 3U}) {
        std::vector<std::string> all;
        History query{.key = key_, .limit = limit};
        for (int pages = 0; pages < 10; ++pages) {
            const auto page = locks().history(query);
            if (page.empty()) break;
            for (const PastLease& past : page) all.push_back(past.lease.owner);
            query.before = page.back().sequence;
        }
        EXPECT_EQ(all, (std::vector<std::string>{"carol", "bob", "alice"})) << limit;
    }
}

TEST_P(PastLeases, ManyExpiredLeasesOfAKeyComePageByPageToo) {
    constexpr std::int64_t exact_in_javascript = (std::int64_t{1} << 53) - 1;
    (void)lock_and_release(key_, "alice");
    (void)lock_and_release(key_, "bob");
    const std::vector<std::pair<std::string, Duration>> shares{
        {"dave", 2min}, {"erin", 3min}, {"carol", 1min}};
    for (const auto& [owner, ttl] : shares) {
        (void)must(locks().try_lock(key_, {.owner = owner, .mode = Mode::shared, .ttl = ttl}));
    }
    let_pass(4min);
    for (const std::size_t limit : {1U, 2U, 3U, 4U, 5U, 6U}) {
        std::vector<std::string> all;
        History query{.key = key_, .limit = limit};
        for (int pages = 0; pages < 10; ++pages) {
            const auto page = locks().history(query);
            EXPECT_LE(page.size(), limit);
            if (page.empty()) break;
            for (const PastLease& past : page) {
                EXPECT_LT(past.sequence, query.before.value_or(exact_in_javascript + 1));
                query.before = past.sequence;
                all.push_back(past.lease.owner);
            }
        }
        EXPECT_EQ(all, (std::vector<std::string>{"erin", "dave", "carol", "bob", "alice"}))
            << limit;
    }
}

TEST_P(PastLeases, ReleasingAllKeepsEachOfThem) {
    for (int i = 0; i < 5; ++i) (void)lock({"Order", std::to_string(i)}, "alice");
    EXPECT_EQ(must(locks().release_all("alice")).size(), 5U);
    EXPECT_EQ(locks().history().size(), 5U);
}

TEST_P(PastLeases, NothingIsForgottenWithinTheRetention) {
    const Lease released = lock_and_release(key_, "alice");
    const Lease taken = lock(other_, "bob", 1min);
    let_pass(2min);
    (void)lock_and_release(other_, "carol");
    const Lease expired = lock({"Order", "3"}, "dave", 1min);
    let_pass(12h);
    locks().purge();
    EXPECT_TRUE(gone(locks().check(key_, released.lock_id), Gone::released));
    EXPECT_TRUE(gone(locks().check(taken.lock_id), Gone::taken, "carol"));
    EXPECT_TRUE(gone(locks().check({"Order", "3"}, expired.lock_id), Gone::expired));
    EXPECT_EQ(locks().history({.key = key_}).size(), 1U);
    EXPECT_EQ(locks().history({.key = other_}).size(), 2U);
    EXPECT_EQ(locks().history({.key = LockKey{"Order", "3"}}).size(), 1U);
}

TEST_P(PastLeases, WhatEndedBeforeTheRetentionIsForgotten) {
    const Lease released = lock_and_release(key_, "alice");
    const Lease taken = lock(other_, "bob", 1min);
    let_pass(2min);
    (void)lock_and_release(other_, "carol");
    const Lease expired = lock({"Order", "3"}, "dave", 1min);
    const Lease alive = must(locks().try_lock({"Order", "4"}, {.owner = "erin", .ttl = 24h}));
    let_pass(23h);
    EXPECT_TRUE(granted(locks().extend(alive.lock_id, 10h)));
    let_pass(2h + 1min);
    EXPECT_GT(locks().purge(), 0U);
    EXPECT_TRUE(gone(locks().check(key_, released.lock_id), Gone::unknown));
    EXPECT_TRUE(gone(locks().check(taken.lock_id), Gone::unknown));
    EXPECT_TRUE(gone(locks().check({"Order", "3"}, expired.lock_id), Gone::unknown));
    EXPECT_TRUE(locks().history().empty());
    EXPECT_TRUE(granted(locks().check(alive.lock_id)));
    EXPECT_EQ(locks().purge(), 0U);
}

TEST_P(PastLeases, PurgingLeavesTheLivingAlone) {
    const auto locks = manager({.allow_endless = true});
    const Lease endless = must(locks->try_lock(key_, {.owner = "alice", .ttl = until_released}));
    const Lease reader = must(
        locks->try_lock(other_, {.owner = "bob", .mode = Mode::shared, .ttl = until_released}));
    const Lease gone_reader =
        must(locks->try_lock(other_, {.owner = "carol", .mode = Mode::shared, .ttl = 1min}));
    let_pass(std::chrono::days{30});
    locks->purge();
    EXPECT_TRUE(granted(locks->check(key_, endless.lock_id)));
    EXPECT_TRUE(granted(locks->check(other_, reader.lock_id)));
    EXPECT_FALSE(granted(locks->check(other_, gone_reader.lock_id)));
    EXPECT_TRUE(held(locks->try_lock(other_, {.owner = "dave"}), {"bob"}));
}

TEST_P(PastLeases, FencesGrowAcrossAPurge) {
    const Lease before = lock_and_release(key_, "alice");
    const Lease expired = lock(other_, "bob", 1min);
    let_pass(beyond_retention);
    locks().purge();
    const auto reopened = manager();
    EXPECT_GT(must(reopened->try_lock(key_, {.owner = "alice"})).fence, before.fence);
    EXPECT_GT(must(reopened->try_lock(other_, {.owner = "bob"})).fence, expired.fence);
}

TEST_P(PastLeases, ManyGrantsInOneMomentStayBehindTheFencesAfterAPurge) {
    Fence last = 0;
    for (int i = 0; i < 300; ++i) last = lock_and_release(key_, "alice").fence;
    let_pass(beyond_retention);
    locks().purge();
    EXPECT_GT(lock(key_, "alice").fence, last);
}

TEST_P(PastLeases, AForgottenReaderDoesNotComeBackWithTheNextReaders) {
    const auto share = [&](const std::string& owner) {
        return must(locks().try_lock(key_, {.owner = owner, .mode = Mode::shared, .ttl = 1min}));
    };
    const Lease alice = share("alice");
    let_pass(beyond_retention);
    locks().purge();
    locks().purge();
    (void)share("bob");
    (void)share("carol");
    EXPECT_TRUE(locks().history({.key = key_}).empty());
    EXPECT_TRUE(gone(locks().check(key_, alice.lock_id), Gone::unknown));
    EXPECT_EQ(must(locks().release_all("bob")).size(), 1U);
    EXPECT_EQ(owners(locks().history({.key = key_})), std::vector<std::string>{"bob"});
}

TEST_P(PastLeases, APurgeGoesThroughManyKeysAPageAtATime) {
    const auto locks = manager({.page_rows = 50});
    std::vector<LockKey> keys;
    for (int i = 0; i < 210; ++i) keys.emplace_back("Order", std::to_string(i));
    (void)must(locks->try_lock_all(keys, {.owner = "alice"}));
    EXPECT_EQ(must(locks->release_all("alice")).size(), keys.size());
    let_pass(beyond_retention);
    EXPECT_GE(locks->purge(), keys.size());
    EXPECT_TRUE(locks->history({.limit = 50}).empty());
    EXPECT_EQ(locks->purge(), 0U);
}

TEST_P(PastLeases, AKeyIsRememberedAsLongAsTheLastWhoSharedIt) {
    const auto share = [&](const std::string& owner, Duration ttl) {
        return must(locks().try_lock(key_, {.owner = owner, .mode = Mode::shared, .ttl = ttl}));
    };
    (void)share("alice", 1min);
    const Lease bob = share("bob", 24h);
    let_pass(23h);
    EXPECT_TRUE(granted(locks().release(key_, bob.lock_id)));
    let_pass(2h);
    locks().purge();
    const auto told = owners(locks().history({.key = key_}));
    EXPECT_NE(std::ranges::find(told, "bob"), told.end());
}

TEST_P(PastLeases, APurgeForgetsAllOfAKeysHistory) {
    const auto locks = manager({.page_rows = 10});
    for (int i = 0; i < 35; ++i) (void)lock_and_release(key_, "alice");
    let_pass(beyond_retention);
    locks->purge();
    EXPECT_EQ(locks->purge(), 0U);
}

TEST_P(PastLeases, APurgeLooksAtEveryKeyWhereverTheOneBeforeLeftOff) {
    const auto locks = manager({.page_rows = 10});
    for (int i = 0; i < 35; ++i) (void)lock_and_release({"Order", std::to_string(i)}, "alice");
    std::promise<void> looked;
    locks->submit(Purge{.rows = 10}, [&](const Outcome&) { looked.set_value(); });
    looked.get_future().wait();
    let_pass(beyond_retention);
    locks->purge();
    EXPECT_EQ(locks->purge(), 0U);
}

TEST_P(PastLeases, TheRetentionCanBeChosen) {
    const auto locks = manager({}, {.retention = 10min});
    const Lease lease = must(locks->try_lock(key_, {.owner = "alice"}));
    EXPECT_TRUE(granted(locks->release(lease.lock_id)));
    let_pass(9min);
    locks->purge();
    EXPECT_TRUE(gone(locks->check(key_, lease.lock_id), Gone::released));
    let_pass(2min);
    locks->purge();
    EXPECT_TRUE(gone(locks->check(key_, lease.lock_id), Gone::unknown));
}

LEASEHOLD_ON_EVERY_STORE(PastLeases);

}  // namespace
}  // namespace leasehold::conformance
