#include <algorithm>
#include <set>

#include "conformance/conformance.hpp"

// try_lock_all takes every key or none.
namespace leasehold::conformance {
namespace {

class AllOrNothing : public ConformanceTest {
protected:
    static std::vector<LockKey> orders(int first, int last) {
        std::vector<LockKey> keys;
        for (int i = first; i <= last; ++i) keys.emplace_back("Order", std::to_string(i));
        return keys;
    }

    static Request request(const std::vector<LockKey>& keys, const std::vector<TryLockId>& ids) {
        return TryLockAll{.keys = keys, .lock_ids = ids, .owner = "alice", .ttl = 5min};
    }

    Outcome apply(const Request& request) {
        if (!store_) store_ = harness().open();
        Outcome outcome;
        store_->apply({&request, 1}, {&outcome, 1});
        return outcome;
    }

    std::unique_ptr<Store> store_;
};

TEST_P(AllOrNothing, GrantsEveryKeyALeaseOfItsOwn) {
    const auto keys = orders(1, 9);
    const std::vector<Lease> leases =
        must(locks().try_lock_all(keys, {.owner = "alice", .ttl = 10min, .note = "bulk edit"}));
    ASSERT_EQ(leases.size(), keys.size());
    std::set<LockId> ids;
    for (std::size_t i = 0; i < leases.size(); ++i) {
        EXPECT_EQ(leases[i].key, keys[i]);
        EXPECT_EQ(leases[i].note, "bulk edit");
        EXPECT_TRUE(about(leases[i].remaining(), 10min));
        EXPECT_TRUE(granted(locks().check(keys[i], leases[i].lock_id)));
        ids.insert(leases[i].lock_id);
    }
    EXPECT_EQ(ids.size(), keys.size());
}

TEST_P(AllOrNothing, RefusedWithTheHoldersOfAllTakenKeysItTakesNone) {
    const Lease bob = must(locks().try_lock({"Order", "2"}, {.owner = "bob"}));
    (void)must(locks().try_lock({"Order", "4"}, {.owner = "carol", .mode = Mode::shared}));
    (void)must(locks().try_lock({"Order", "4"}, {.owner = "dave", .mode = Mode::shared}));
    const auto refused = locks().try_lock_all(orders(1, 5), {.owner = "alice"});
    ASSERT_TRUE(held(refused, {"bob", "carol", "dave"}));
    EXPECT_EQ(std::ranges::count(refused.error().holders, holder_of(bob)), 1);
    for (const int free : {1, 3, 5}) {
        EXPECT_TRUE(locks().holders({"Order", std::to_string(free)}).empty()) << free;
    }
    EXPECT_TRUE(locks().list({.owner = "alice"}).empty());
    EXPECT_TRUE(granted(locks().try_lock_all(orders(5, 9), {.owner = "erin"})));
}

TEST_P(AllOrNothing, ARefusalEndsNoExpiredLeaseAndDrawsNoFence) {
    const Lease expired = must(locks().try_lock({"Order", "1"}, {.owner = "bob", .ttl = 1min}));
    let_pass(2min);
    (void)must(locks().try_lock({"Order", "2"}, {.owner = "carol"}));
    const std::string before = harness().dump();
    EXPECT_TRUE(held(locks().try_lock_all(orders(1, 2), {.owner = "alice"}), {"carol"}));
    EXPECT_EQ(harness().dump(), before);
    EXPECT_TRUE(gone(locks().check({"Order", "1"}, expired.lock_id), Gone::expired));
}

TEST_P(AllOrNothing, ARefusalDoesNotRenewWhatTheOwnerHas) {
    const Lease mine = must(locks().try_lock({"Order", "1"}, {.owner = "alice", .ttl = 1min}));
    (void)must(locks().try_lock({"Order", "2"}, {.owner = "bob"}));
    EXPECT_TRUE(held(locks().try_lock_all(orders(1, 2), {.owner = "alice", .ttl = 1h}), {"bob"}));
    EXPECT_EQ(holder_of(must(locks().check(mine.lock_id))), holder_of(mine));
}

TEST_P(AllOrNothing, ARefusalDoesNotConvertWhatTheOwnerHas) {
    const Lease mine =
        must(locks().try_lock({"Order", "1"}, {.owner = "alice", .mode = Mode::shared}));
    (void)must(locks().try_lock({"Order", "2"}, {.owner = "bob"}));
    EXPECT_TRUE(held(locks().try_lock_all(orders(1, 2), {.owner = "alice"}), {"bob"}));
    EXPECT_EQ(holder_of(must(locks().check(mine.lock_id))), holder_of(mine));
    EXPECT_TRUE(
        granted(locks().try_lock({"Order", "1"}, {.owner = "carol", .mode = Mode::shared})));
}

TEST_P(AllOrNothing, TakesOverExpiredKeysAndKeepsWhatTheOwnerHas) {
    const Lease mine = must(locks().try_lock({"Order", "1"}, {.owner = "alice"}));
    const Lease expired = must(locks().try_lock({"Order", "2"}, {.owner = "bob", .ttl = 1min}));
    let_pass(2min);
    const std::vector<Lease> leases = must(locks().try_lock_all(orders(1, 3), {.owner = "alice"}));
    EXPECT_EQ(leases[0].lock_id, mine.lock_id);
    EXPECT_EQ(leases[0].fence, mine.fence);
    EXPECT_GT(leases[1].fence, expired.fence);
    EXPECT_TRUE(gone(locks().check(expired.lock_id), Gone::taken, "alice"));
}

TEST_P(AllOrNothing, SharedLeasesAreTakenAllAtOnceToo) {
    (void)must(locks().try_lock_all(orders(1, 3), {.owner = "alice", .mode = Mode::shared}));
    (void)must(locks().try_lock_all(orders(2, 4), {.owner = "bob", .mode = Mode::shared}));
    EXPECT_TRUE(
        held(locks().try_lock_all(orders(3, 5), {.owner = "carol"}), {"alice", "bob", "bob"}));
    EXPECT_TRUE(locks().holders({"Order", "5"}).empty());
}

TEST_P(AllOrNothing, AKeyNamedTwiceIsTakenOnce) {
    const LockKey key{"Order", "1"};
    EXPECT_EQ(must(locks().try_lock_all({key, {"Order", "2"}, key})).size(), 2U);
}

TEST_P(AllOrNothing, AnyOrderOfTheKeysWillDo) {
    auto keys = orders(1, 9);
    std::ranges::reverse(keys);
    EXPECT_EQ(must(locks().try_lock_all(keys, {.owner = "alice"})).size(), 9U);
    std::ranges::rotate(keys, keys.begin() + 4);
    EXPECT_EQ(must(locks().try_lock_all(keys, {.owner = "alice"})).size(), 9U);
    EXPECT_EQ(locks().list().size(), 9U);
}

TEST_P(AllOrNothing, AskingAgainWithTheSameLockIdsGivesTheSameLeases) {
    const auto keys = orders(1, 3);
    const std::vector<TryLockId> ids{LockId::random(), LockId::random(), LockId::random()};
    const Outcome first = apply(request(keys, ids));
    const Outcome again = apply(request(keys, ids));
    ASSERT_TRUE(std::holds_alternative<std::vector<Lease>>(first));
    ASSERT_TRUE(std::holds_alternative<std::vector<Lease>>(again));
    for (std::size_t i = 0; i < keys.size(); ++i) {
        EXPECT_EQ(std::get<std::vector<Lease>>(again)[i].lock_id, ids[i]);
        EXPECT_EQ(holder_of(std::get<std::vector<Lease>>(again)[i]),
                  holder_of(std::get<std::vector<Lease>>(first)[i]));
    }
}

TEST_P(AllOrNothing, ADeadLockIdAmongThemRefusesAll) {
    const auto keys = orders(1, 3);
    const std::vector<TryLockId> ids{LockId::random(), LockId::random(), LockId::random()};
    ASSERT_TRUE(std::holds_alternative<std::vector<Lease>>(apply(request(keys, ids))));
    EXPECT_TRUE(granted(locks().release(ids[1])));
    const Outcome again = apply(request(keys, ids));
    ASSERT_TRUE(std::holds_alternative<Refusal>(again));
    EXPECT_TRUE(refusal_is_gone(std::get<Refusal>(again), Gone::released, "", ""));
    EXPECT_TRUE(locks().holders(keys[1]).empty());
    EXPECT_TRUE(granted(locks().check(ids[0])));
}

TEST_P(AllOrNothing, AsManyKeysAsTheLimitAllowsAreTakenAtOnce) {
    std::vector<LockKey> keys;
    for (std::size_t i = 0; i < locks().limits().keys_at_once; ++i) {
        keys.emplace_back("Order", std::to_string(i));
    }
    EXPECT_EQ(must(locks().try_lock_all(keys, {.owner = "alice"})).size(), keys.size());
    EXPECT_EQ(must(locks().release_all("alice")).size(), keys.size());
}

LEASEHOLD_ON_EVERY_STORE(AllOrNothing);

}  // namespace
}  // namespace leasehold::conformance
