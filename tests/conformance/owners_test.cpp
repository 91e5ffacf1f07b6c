#include <algorithm>

#include "conformance/conformance.hpp"

// release_all ends the leases of an owner, or all leases below an owner path, and nothing else.
namespace leasehold::conformance {
namespace {

class Owners : public ConformanceTest {
protected:
    static LockKey order(const std::string& id) { return {"Order", id}; }

    void everybody_locks_a_key_of_his_own() {
        for (const std::string& owner : owners_) {
            (void)must(locks().try_lock(order("of " + owner), {.owner = owner}));
        }
        (void)must(locks().try_lock(order("of nobody")));
    }

    static std::vector<std::string> sorted(std::vector<std::string> texts) {
        std::ranges::sort(texts);
        return texts;
    }

    const std::vector<std::string> owners_{"alice",       "alice/tab-1", "alice/tab-1/frame",
                                           "alice/tab-2", "alice0",      "alicex",
                                           "alice.x",     "alic",        "Alice",
                                           "Alice/tab-1", "alice ",      "bob/alice",
                                           "alice%",      "alice_/x",    "alice/"};
};

TEST_P(Owners, ExactEndsOnlyThatOwners) {
    everybody_locks_a_key_of_his_own();
    EXPECT_EQ(owners_of(must(locks().release_all("alice"))), std::vector<std::string>{"alice"});
    EXPECT_EQ(locks().list().size(), owners_.size());
}

TEST_P(Owners, BelowEndsThePathAndNothingThatOnlyBeginsLikeIt) {
    everybody_locks_a_key_of_his_own();
    const auto released = must(locks().release_all("alice", OwnerScope::below));
    EXPECT_EQ(sorted(owners_of(released)),
              sorted({"alice", "alice/", "alice/tab-1", "alice/tab-1/frame", "alice/tab-2"}));
    EXPECT_EQ(sorted(owners_of(locks().list())),
              sorted({"", "Alice", "Alice/tab-1", "alic", "alice ", "alice%", "alice.x", "alice0",
                      "alice_/x", "alicex", "bob/alice"}));
}

TEST_P(Owners, WildcardsInAnOwnerAreOnlyLetters) {
    everybody_locks_a_key_of_his_own();
    EXPECT_EQ(owners_of(must(locks().release_all("alice%", OwnerScope::below))),
              std::vector<std::string>{"alice%"});
    EXPECT_EQ(owners_of(must(locks().release_all("alice_", OwnerScope::below))),
              std::vector<std::string>{"alice_/x"});
}

TEST_P(Owners, AllKeysAndBothModesEnd) {
    for (int i = 0; i < 5; ++i) {
        (void)must(locks().try_lock(order(std::to_string(i)), {.owner = "alice"}));
    }
    (void)must(locks().try_lock(order("shared"), {.owner = "alice", .mode = Mode::shared}));
    (void)must(locks().try_lock(order("shared"), {.owner = "bob", .mode = Mode::shared}));
    (void)must(locks().try_lock(order("shared"), {.owner = "alice/x", .mode = Mode::shared}));
    EXPECT_EQ(must(locks().release_all("alice")).size(), 6U);
    EXPECT_EQ(sorted(owners_of(locks().holders(order("shared")))), sorted({"alice/x", "bob"}));
    EXPECT_EQ(must(locks().release_all("alice", OwnerScope::below)).size(), 1U);
    EXPECT_EQ(owners_of(locks().list()), std::vector<std::string>{"bob"});
}

TEST_P(Owners, TheReleasedLeasesAreNamedWithTheirLockIds) {
    const Lease lease = must(locks().try_lock(order("1"), {.owner = "alice", .note = "n"}));
    const auto released = must(locks().release_all("alice"));
    ASSERT_EQ(released.size(), 1U);
    EXPECT_EQ(released.front().lock_id, lease.lock_id);
    EXPECT_EQ(holder_of(released.front()), holder_of(lease));
    EXPECT_TRUE(gone(locks().check(order("1"), lease.lock_id), Gone::released));
}

TEST_P(Owners, OnAKeyOnlyTheLeaseOnItEnds) {
    (void)must(locks().try_lock(order("1"), {.owner = "alice"}));
    (void)must(locks().try_lock(order("2"), {.owner = "alice"}));
    (void)must(locks().try_lock(order("3"), {.owner = "alice/tab", .mode = Mode::shared}));
    (void)must(locks().try_lock(order("3"), {.owner = "bob", .mode = Mode::shared}));
    EXPECT_EQ(must(locks().release_all("alice", OwnerScope::exact, order("1"))).size(), 1U);
    EXPECT_EQ(must(locks().release_all("alice", OwnerScope::exact, order("3"))).size(), 0U);
    EXPECT_EQ(must(locks().release_all("alice", OwnerScope::below, order("3"))).size(), 1U);
    EXPECT_EQ(must(locks().release_all("alice", OwnerScope::below, order("never seen"))).size(),
              0U);
    EXPECT_EQ(sorted(ids_of(locks().list())), sorted({"2", "3"}));
}

TEST_P(Owners, WithATokenOnlyItsOwnLeasesEnd) {
    const auto store = harness().open();
    const auto ask = [&](const Request& request) {
        Outcome outcome;
        store->apply({&request, 1}, {&outcome, 1});
        return outcome;
    };
    for (const char* const token : {"", "shop", "shop/eu", "shop2"}) {
        for (const Mode mode : {Mode::exclusive, Mode::shared}) {
            const std::string id = mode == Mode::shared ? "shared" : token;
            ASSERT_TRUE(std::holds_alternative<Lease>(ask(TryLock{.key = order("of " + id),
                                                                  .lock_id = LockId::random(),
                                                                  .owner = "alice",
                                                                  .mode = mode,
                                                                  .ttl = 1h,
                                                                  .token_id = token})));
        }
    }
    const auto released = [&](const std::string& token) {
        return std::get<std::vector<Lease>>(
                   ask(ReleaseAll{.owner = "alice", .by = "who", .token_id = token}))
            .size();
    };
    EXPECT_EQ(released("sho"), 0U);
    EXPECT_EQ(released("shop"), 4U);
    EXPECT_EQ(sorted(ids_of(locks().list())),
              sorted({"of ", "of shared", "of shared", "of shop2"}));
    EXPECT_EQ(locks().history({.key = order("of shop")}).front().by, "who");
    EXPECT_EQ(released(""), 4U);
}

TEST_P(Owners, ReleasingAllTwiceIsHarmless) {
    (void)must(locks().try_lock(order("1"), {.owner = "alice"}));
    EXPECT_EQ(must(locks().release_all("alice")).size(), 1U);
    EXPECT_TRUE(must(locks().release_all("alice")).empty());
    EXPECT_TRUE(must(locks().release_all("never seen", OwnerScope::below)).empty());
}

TEST_P(Owners, WhatHasExpiredIsNotReleased) {
    const Lease expired = must(locks().try_lock(order("1"), {.owner = "alice", .ttl = 1min}));
    let_pass(2min);
    (void)must(locks().try_lock(order("2"), {.owner = "alice"}));
    EXPECT_EQ(must(locks().release_all("alice")).size(), 1U);
    EXPECT_TRUE(gone(locks().check(order("1"), expired.lock_id), Gone::expired));
}

TEST_P(Owners, WhatOthersTookOverIsNotReleased) {
    (void)must(locks().try_lock(order("1"), {.owner = "alice", .ttl = 1min}));
    let_pass(2min);
    const Lease bob = must(locks().try_lock(order("1"), {.owner = "bob"}));
    EXPECT_TRUE(must(locks().release_all("alice", OwnerScope::below)).empty());
    EXPECT_TRUE(granted(locks().check(bob.lock_id)));
}

TEST_P(Owners, AConvertedLeaseIsFoundByItsOwner) {
    (void)must(locks().try_lock(order("up"), {.owner = "alice", .mode = Mode::shared}));
    (void)must(locks().try_lock(order("up"), {.owner = "alice", .mode = Mode::exclusive}));
    (void)must(locks().try_lock(order("down"), {.owner = "alice", .mode = Mode::exclusive}));
    (void)must(locks().try_lock(order("down"), {.owner = "alice", .mode = Mode::shared}));
    EXPECT_EQ(must(locks().release_all("alice")).size(), 2U);
    EXPECT_TRUE(locks().list().empty());
}

TEST_P(Owners, EveryProcessCanReleaseAll) {
    (void)must(locks().try_lock(order("1"), {.owner = "alice/host-1"}));
    (void)must(manager()->try_lock(order("2"), {.owner = "alice/host-2"}));
    EXPECT_EQ(must(manager()->release_all("alice", OwnerScope::below)).size(), 2U);
    EXPECT_TRUE(locks().list().empty());
}

TEST_P(Owners, AnOwnerWithHundredsOfLeasesEndsThemAllAtOnce) {
    constexpr int many = 500;
    for (int i = 0; i < many; i += 250) {
        std::vector<LockKey> keys;
        for (int j = i; j < i + 250; ++j) keys.push_back(order(std::to_string(j)));
        (void)must(locks().try_lock_all(keys, {.owner = "alice/" + std::to_string(i)}));
    }
    EXPECT_EQ(must(locks().release_all("alice", OwnerScope::below)).size(), std::size_t{many});
    EXPECT_TRUE(locks().list().empty());
}

LEASEHOLD_ON_EVERY_STORE(Owners);

}  // namespace
}  // namespace leasehold::conformance
