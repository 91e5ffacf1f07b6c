#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <leasehold/lock_manager.hpp>
#include <leasehold/store.hpp>

#include "unit/gated_store.hpp"
#include "unit/manual_clock.hpp"
#include "unit/waiting.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

const LockKey key{"Order", "1"};

class LockManagerTest : public ::testing::Test {
protected:
    LockManagerTest() : LockManagerTest{Limits{}} {}
    explicit LockManagerTest(Limits limits)
        : store{new GatedStore{memory_store_on(clock)}},
          locks{std::unique_ptr<Store>{store}, limits} {}

    // Refused with that text, before the store was touched.
    void expect_bad(const std::function<void()>& call, const std::string& text) {
        try {
            call();
            ADD_FAILURE() << "nothing was thrown instead of: " << text;
        } catch (const BadRequest& bad) {
            EXPECT_EQ(std::string{bad.what()}, text);
        }
        EXPECT_TRUE(store->batch_sizes().empty());
    }

    ManualClock clock;
    GatedStore* store;
    LockManager locks;
};

TEST_F(LockManagerTest, UsesTheDefaultTtl) {
    EXPECT_EQ(locks.try_lock(key)->remaining(), 5min);
    EXPECT_EQ(locks.limits().default_ttl, 5min);
}

TEST_F(LockManagerTest, RefusesATtlOutOfBounds) {
    expect_bad([&] { (void)locks.try_lock(key, {.ttl = 99ms}); },
               "the ttl is 99ms; at least 100ms is needed");
    expect_bad([&] { (void)locks.try_lock(key, {.ttl = 24h + 1ms}); },
               "the ttl is 1d1ms; at most 1d is allowed");
    expect_bad([&] { (void)locks.try_lock(key, {.ttl = -1s}); },
               "the ttl is -1s; at least 100ms is needed");
    expect_bad([&] { (void)locks.renew(key, LockId::random(), 0s); },
               "the ttl is 0s; at least 100ms is needed");
    expect_bad([&] { (void)locks.try_lock(key, {.ttl = until_released}); },
               "leases without an expiry are not allowed here: allow_endless is off");
    expect_bad([&] { (void)locks.extend(key, LockId::random(), 0s); },
               "the extension must be more than 0");
    expect_bad([&] { (void)locks.extend(key, LockId::random(), 25h); },
               "the extension is 1d1h; at most 1d is allowed");
}

TEST_F(LockManagerTest, TakesATtlOnTheBounds) {
    EXPECT_TRUE(locks.try_lock({"Order", "shortest"}, {.ttl = 100ms}));
    EXPECT_TRUE(locks.try_lock({"Order", "longest"}, {.ttl = 24h}));
}

TEST_F(LockManagerTest, RefusesTextsOutOfBounds) {
    expect_bad([&] { (void)locks.try_lock(key, {.owner = std::string(513, 'x')}); },
               "the owner is 513 bytes long; at most 512 are allowed");
    expect_bad([&] { (void)locks.try_lock(key, {.owner = "a\nb"}); },
               "the owner contains a control character at byte 1");
    expect_bad([&] { (void)locks.try_lock(key, {.note = std::string(1025, 'x')}); },
               "the note is 1025 bytes long; at most 1024 are allowed");
    expect_bad([&] { (void)locks.try_lock(key, {.note = "\xFF"}); },
               "the note is not valid UTF-8 at byte 0");
    expect_bad([&] { (void)locks.break_lock(key, 1, "", "why"); },
               "the person who breaks a lock must be named");
    expect_bad([&] { (void)locks.break_lock(key, 1, "root", std::string(1025, 'x')); },
               "the reason is 1025 bytes long; at most 1024 are allowed");
    expect_bad([&] { locks.release_all(""); },
               "release_all needs an owner; anonymous leases have none");
}

TEST_F(LockManagerTest, RefusesTheNilLockId) {
    const std::string text = "the nil lock id names no lease";
    expect_bad([&] { (void)locks.try_lock(key, {.lock_id = LockId{}}); }, text);
    expect_bad([&] { (void)locks.check(key, LockId{}); }, text);
    expect_bad([&] { (void)locks.check(LockId{}); }, text);
    expect_bad([&] { (void)locks.extend(key, LockId{}, 1min); }, text);
    expect_bad([&] { (void)locks.renew(key, LockId{}, 1min); }, text);
    expect_bad([&] { locks.release(key, LockId{}); }, text);
}

TEST_F(LockManagerTest, RefusesPagesOutOfBounds) {
    expect_bad([&] { (void)locks.list({.limit = 0}); }, "a page has at least one row");
    expect_bad([&] { (void)locks.list({.limit = 1001}); },
               "the size of a page is 1001; at most 1000 are allowed");
    expect_bad([&] { (void)locks.history({.limit = 1001}); },
               "the size of a page is 1001; at most 1000 are allowed");
}

TEST_F(LockManagerTest, RefusesKeysOutOfBounds) {
    expect_bad([&] { (void)locks.try_lock_all({}); }, "try_lock_all needs at least one key");
    std::vector<LockKey> many;
    for (int i = 0; i < 257; ++i) many.emplace_back("Order", std::to_string(i));
    expect_bad([&] { (void)locks.try_lock_all(many); },
               "the number of keys is 257; at most 256 are allowed");
    const std::string text =
        "try_lock_all takes neither `since` nor `lock_id`: they are for one key";
    expect_bad([&] { (void)locks.try_lock_all({key}, {.since = 1}); }, text);
    expect_bad([&] { (void)locks.try_lock_all({key}, {.lock_id = LockId::random()}); }, text);
}

TEST_F(LockManagerTest, GrantsNoKeyThatAUrlCannotName) {
    const std::string said =
        "the key's type and id cannot be '.' or '..': browsers and proxies remove them from a URL, "
        "and the request would reach another route";
    for (const LockKey& dots :
         {LockKey{"Order", "."}, LockKey{"Order", ".."}, LockKey{".", "1"}, LockKey{"..", "1"}}) {
        expect_bad([&] { (void)locks.try_lock(dots); }, said);
        expect_bad([&] { (void)locks.try_lock_all({key, dots}); }, said);
    }
    EXPECT_TRUE(locks.try_lock({"Order", "..."}));
    EXPECT_TRUE(locks.try_lock({"a.b", "../.."}));
}

TEST_F(LockManagerTest, ALeaseThatAnOlderVersionGrantedOnSuchAKeyCanBeEnded) {
    const LockKey dots{"Order", ".."};
    const auto grant = [&] {
        const Request request =
            TryLock{.key = dots, .lock_id = LockId::random(), .owner = "alice", .ttl = 1min};
        Outcome outcome;
        store->apply({&request, 1}, {&outcome, 1});
        return std::get<Lease>(outcome);
    };
    const Lease first = grant();
    EXPECT_EQ(locks.list().size(), 1U);
    EXPECT_EQ(locks.holders(dots).size(), 1U);
    EXPECT_TRUE(locks.check(dots, first.lock_id));
    EXPECT_TRUE(locks.renew(dots, first.lock_id, 1min));
    EXPECT_TRUE(locks.release(dots, first.lock_id));
    EXPECT_TRUE(locks.break_lock(dots, grant().fence, "root", "old"));
    (void)grant();
    EXPECT_EQ(locks.release_all("alice").value().size(), 1U);
    EXPECT_EQ(locks.history({.key = dots}).size(), 3U);
}

TEST_F(LockManagerTest, ASubmittedRequestOutOfBoundsIsRefusedAndGetsNoReply) {
    bool replied = false;
    const auto submit = [&](Request request) {
        locks.submit(std::move(request), [&](const Outcome&) { replied = true; });
    };
    expect_bad([&] { submit(Check{key, LockId{}}); }, "the nil lock id names no lease");
    expect_bad([&] { submit(Purge{0}); }, "a page has at least one row");
    const std::string unsorted = "the keys must be sorted and different";
    const std::vector<TryLockId> ids{LockId::random(), LockId::random()};
    expect_bad(
        [&] { submit(TryLockAll{.keys = {{"B", "1"}, {"A", "1"}}, .lock_ids = ids, .ttl = 1min}); },
        unsorted);
    expect_bad(
        [&] { submit(TryLockAll{.keys = {{"A", "1"}, {"A", "1"}}, .lock_ids = ids, .ttl = 1min}); },
        unsorted);
    expect_bad([&] { submit(TryLockAll{.keys = {{"A", "1"}}, .lock_ids = ids, .ttl = 1min}); },
               "each key needs a lock id");
    const std::vector<TryLockId> twice(2, LockId::random());
    expect_bad(
        [&] {
            submit(TryLockAll{.keys = {{"A", "1"}, {"A", "2"}}, .lock_ids = twice, .ttl = 1min});
        },
        "each key needs a lock id of its own");
    EXPECT_FALSE(replied);
}

TEST_F(LockManagerTest, TakesKeysInAnyOrderAndOnceEach) {
    const auto leases =
        locks.try_lock_all({{"B", "1"}, {"A", "1"}, {"B", "1"}}, {.owner = "alice"});
    ASSERT_TRUE(leases);
    EXPECT_EQ(leases->size(), 2U);
}

TEST_F(LockManagerTest, AnswersASubmittedRequest) {
    std::atomic<bool> granted{false};
    locks.submit(TryLock{.key = key, .lock_id = LockId::random(), .ttl = 1min},
                 [&](const Outcome& outcome) { granted = std::holds_alternative<Lease>(outcome); });
    EXPECT_TRUE(eventually([&] { return granted.load(); }));
}

TEST_F(LockManagerTest, TellsTheStoresStatus) {
    const StoreStatus status = locks.status();
    EXPECT_EQ(status.name, "memory");
    EXPECT_EQ(status.durability, Durability::none);
}

TEST_F(LockManagerTest, PurgesAllThatEndedLongAgo) {
    for (int i = 0; i < 50; ++i) {
        const auto lease = locks.try_lock({"Order", std::to_string(i)});
        locks.release(lease->key, lease->lock_id);
    }
    EXPECT_EQ(locks.purge(), 0U);
    EXPECT_EQ(locks.history({.limit = 1000}).size(), 50U);
    clock.advance(25h);
    EXPECT_GT(locks.purge(), 0U);
    EXPECT_TRUE(locks.history().empty());
    EXPECT_EQ(locks.purge(), 0U);
}

TEST_F(LockManagerTest, RefusesLimitsThatNoTimeCanBeCountedWith) {
    for (const Duration endless : {until_released, Duration{std::chrono::years{101}}}) {
        EXPECT_THROW((LockManager{memory::open(), {.max_hold = endless}}), BadRequest);
        EXPECT_THROW((LockManager{memory::open(), {.max_ttl = endless}}), BadRequest);
    }
    EXPECT_THROW((LockManager{memory::open(), {.max_hold = 0s}}), BadRequest);
    EXPECT_NO_THROW(
        (LockManager{memory::open(),
                     {.max_ttl = std::chrono::years{100}, .max_hold = std::chrono::years{100}}}));
}

TEST_F(LockManagerTest, RefusesLimitsThatLeaveNoLeaseToGrant) {
    const auto with = [](const Limits& limits) { LockManager{memory::open(), limits}; };
    expect_bad([&] { with({.min_ttl = 2min, .max_ttl = 1min}); },
               "the limit min_ttl (2m) must not be above max_ttl (1m)");
    expect_bad([&] { with({.max_hold = 99ms}); },
               "the limit min_ttl (100ms) must not be above max_hold (99ms)");
    EXPECT_NO_THROW(with({.min_ttl = 1min, .max_ttl = 1min, .max_hold = 1min}));
}

Limits bounded() {
    Limits limits;
    limits.max_hold = 10min;
    limits.max_ttl = 1h;
    return limits;
}

class BoundedLockManagerTest : public LockManagerTest {
protected:
    BoundedLockManagerTest() : LockManagerTest{bounded()} {}
};

TEST_F(BoundedLockManagerTest, HoldsNoLeaseForLongerThanItsLimit) {
    const auto lease = locks.try_lock(key, {.owner = "alice", .ttl = 5min});
    ASSERT_TRUE(lease);
    EXPECT_EQ(locks.extend(key, lease->lock_id, 1h)->remaining(), 10min);
    clock.advance(5min);
    EXPECT_EQ(locks.renew(key, lease->lock_id, 1h)->remaining(), 5min);
    EXPECT_EQ(locks.try_lock(key, {.owner = "alice", .ttl = 1h})->remaining(), 5min);
    EXPECT_EQ(locks.try_lock_all({key}, {.owner = "alice", .ttl = 1h})->at(0).remaining(), 5min);
}

TEST_F(BoundedLockManagerTest, HoldsSubmittedRequestsToItsLimitsToo) {
    Outcome outcome;
    std::atomic<bool> replied{false};
    locks.submit(TryLock{.key = key, .lock_id = LockId::random(), .ttl = 30min},
                 [&](Outcome answer) {
                     outcome = std::move(answer);
                     replied = true;
                 });
    ASSERT_TRUE(eventually([&] { return replied.load(); }));
    EXPECT_EQ(std::get<Lease>(outcome).remaining(), 10min);
}

}  // namespace
}  // namespace leasehold::testing
