#include "conformance/conformance.hpp"
#include "core/fresh_lock_id.hpp"

// If an owner with a name tries a key that it holds, it gets its live lease back, renewed or
// converted.
namespace leasehold::conformance {
namespace {

class Reentrancy : public ConformanceTest {
protected:
    Result<Lease> ask(const std::string& owner, Mode mode = Mode::exclusive, Duration ttl = 5min) {
        return locks().try_lock(key_, {.owner = owner, .mode = mode, .ttl = ttl});
    }

    const LockKey key_{"Order", "1"};
};

TEST_P(Reentrancy, TheSameOwnerGetsItsLeaseBackRenewed) {
    const Lease first = must(ask("alice"));
    let_pass(4min);
    const Lease again = must(manager()->try_lock(key_, {.owner = "alice"}));
    EXPECT_EQ(again.lock_id, first.lock_id);
    EXPECT_EQ(again.fence, first.fence);
    EXPECT_TRUE(about(again.remaining(), 5min));
    EXPECT_TRUE(about(again.store_now - again.granted_at, 4min));
    let_pass(4min);
    EXPECT_TRUE(granted(locks().check(first.lock_id)));
}

TEST_P(Reentrancy, AskingAgainNeverShortens) {
    const Lease first = must(ask("alice", Mode::exclusive, 1h));
    EXPECT_EQ(must(ask("alice", Mode::exclusive, 1min)).expires_at, first.expires_at);
}

TEST_P(Reentrancy, OneReleaseEndsItHoweverOftenItWasAskedFor) {
    const Lease lease = must(ask("alice"));
    (void)must(ask("alice"));
    (void)must(ask("alice"));
    EXPECT_TRUE(granted(locks().release(lease.lock_id)));
    EXPECT_TRUE(granted(ask("bob")));
}

TEST_P(Reentrancy, ANewNoteReplacesTheOldAndNoNoteKeepsIt) {
    (void)must(locks().try_lock(key_, {.owner = "alice", .note = "first"}));
    EXPECT_EQ(must(locks().try_lock(key_, {.owner = "alice"})).note, "first");
    EXPECT_EQ(must(locks().try_lock(key_, {.owner = "alice", .note = "second"})).note, "second");
    EXPECT_EQ(locks().holders(key_).front().note, "second");
}

TEST_P(Reentrancy, OwnersThatOnlyLookAlikeAreStrangers) {
    (void)must(ask("alice"));
    for (const char* owner : {"Alice", "alice ", "alice/", "alice/tab-1", "alic", "\u00e1lice"}) {
        EXPECT_TRUE(held(ask(owner), {"alice"})) << owner;
    }
}

TEST_P(Reentrancy, AnonymousIsNeverReentrant) {
    (void)must(ask(""));
    EXPECT_TRUE(held(ask(""), {""}));
}

TEST_P(Reentrancy, AnotherTokenIsAStranger) {
    const auto store = harness().open();
    const auto ask_with = [&](const std::string& token_id, bool fresh,
                              Mode mode = Mode::exclusive) {
        const Request request =
            TryLock{.key = key_,
                    .lock_id = fresh ? FreshLockId::draw() : TryLockId{LockId::random()},
                    .owner = "alice",
                    .mode = mode,
                    .ttl = 5min,
                    .token_id = token_id};
        Outcome outcome;
        store->apply({&request, 1}, {&outcome, 1});
        return outcome;
    };
    const auto is_held = [](const Outcome& outcome) {
        const auto* const refusal = std::get_if<Refusal>(&outcome);
        return refusal != nullptr && refusal->kind == Refusal::Kind::held &&
               refusal->holders.front().owner == "alice";
    };
    const auto first = std::get<Lease>(ask_with("shop", true));
    for (const bool fresh : {true, false}) {
        EXPECT_EQ(std::get<Lease>(ask_with("shop", fresh)).lock_id, first.lock_id);
        for (const char* const other : {"", "Shop", "shop ", "sho", "shop/eu"}) {
            EXPECT_TRUE(is_held(ask_with(other, fresh))) << other;
            EXPECT_TRUE(is_held(ask_with(other, fresh, Mode::shared))) << other;
        }
    }
    // Also as a reader, where the lease is a row of its own.
    EXPECT_EQ(std::get<Lease>(ask_with("shop", true, Mode::shared)).lock_id, first.lock_id);
    EXPECT_NE(std::get<Lease>(ask_with("", true, Mode::shared)).lock_id, first.lock_id);
    EXPECT_EQ(locks().holders(key_).size(), 2U);
    EXPECT_EQ(std::get<Lease>(ask_with("shop", true, Mode::shared)).lock_id, first.lock_id);
}

TEST_P(Reentrancy, AnExpiredLeaseOfOnesOwnIsNotGivenBack) {
    const Lease first = must(ask("alice", Mode::exclusive, 1min));
    let_pass(2min);
    const Lease second = must(ask("alice"));
    EXPECT_NE(second.lock_id, first.lock_id);
    EXPECT_GT(second.fence, first.fence);
    EXPECT_FALSE(granted(locks().check(first.lock_id)));
}

TEST_P(Reentrancy, ASharedLeaseIsGivenBackAsWell) {
    const Lease first = must(ask("alice", Mode::shared));
    (void)must(ask("bob", Mode::shared));
    const Lease again = must(ask("alice", Mode::shared, 1h));
    EXPECT_EQ(again.lock_id, first.lock_id);
    EXPECT_EQ(again.fence, first.fence);
    EXPECT_TRUE(about(again.remaining(), 1h));
    EXPECT_EQ(locks().holders(key_).size(), 2U);
}

TEST_P(Reentrancy, ALoneReaderBecomesTheWriterWithANewFence) {
    const Lease reader = must(ask("alice", Mode::shared));
    const Lease writer = must(ask("alice", Mode::exclusive));
    EXPECT_EQ(writer.lock_id, reader.lock_id);
    EXPECT_EQ(writer.mode, Mode::exclusive);
    EXPECT_GT(writer.fence, reader.fence);
    EXPECT_EQ(writer.granted_at, reader.granted_at);
    EXPECT_TRUE(held(ask("bob", Mode::shared), {"alice"}));
    EXPECT_EQ(must(locks().check(key_, reader.lock_id)).mode, Mode::exclusive);
    EXPECT_EQ(locks().holders(key_).size(), 1U);
    EXPECT_EQ(locks().list().size(), 1U);
    EXPECT_TRUE(granted(locks().release(key_, reader.lock_id)));
    EXPECT_TRUE(locks().list().empty());
}

TEST_P(Reentrancy, AReaderAmongOthersCannotBecomeTheWriterButStaysAReader) {
    const Lease alice = must(ask("alice", Mode::shared));
    (void)must(ask("bob", Mode::shared));
    EXPECT_TRUE(held(ask("alice", Mode::exclusive), {"bob"}));
    EXPECT_EQ(holder_of(must(locks().check(key_, alice.lock_id))), holder_of(alice));
}

TEST_P(Reentrancy, AReaderBecomesTheWriterOnceTheOthersHaveExpired) {
    const Lease bob = must(ask("bob", Mode::shared, 1min));
    const Lease alice = must(ask("alice", Mode::shared, 10min));
    let_pass(2min);
    const Lease writer = must(ask("alice", Mode::exclusive));
    EXPECT_GT(writer.fence, alice.fence);
    EXPECT_TRUE(gone(locks().check(key_, bob.lock_id), Gone::taken, "alice"));
    EXPECT_EQ(locks().holders(key_).size(), 1U);
}

TEST_P(Reentrancy, TheWriterBecomesAReaderAndLetsOthersIn) {
    const Lease writer = must(ask("alice", Mode::exclusive));
    const Lease reader = must(ask("alice", Mode::shared));
    EXPECT_EQ(reader.lock_id, writer.lock_id);
    EXPECT_EQ(reader.mode, Mode::shared);
    EXPECT_EQ(reader.fence, writer.fence);
    const Lease bob = must(ask("bob", Mode::shared));
    EXPECT_GT(bob.fence, reader.fence);
    EXPECT_TRUE(granted(locks().check(key_, writer.lock_id)));
    EXPECT_TRUE(held(ask("carol"), {"alice", "bob"}));
    EXPECT_TRUE(granted(locks().release(key_, writer.lock_id)));
    EXPECT_TRUE(held(ask("carol"), {"bob"}));
}

TEST_P(Reentrancy, ConvertingUpAndDownKeepsOneLease) {
    Fence last = 0;
    const Lease first = must(ask("alice", Mode::shared));
    for (int i = 0; i < 5; ++i) {
        const Lease writer = must(ask("alice", Mode::exclusive));
        EXPECT_GT(writer.fence, last);
        last = writer.fence;
        const Lease reader = must(ask("alice", Mode::shared));
        EXPECT_EQ(reader.fence, last);
        EXPECT_EQ(reader.lock_id, first.lock_id);
        EXPECT_EQ(locks().holders(key_).size(), 1U);
    }
    EXPECT_TRUE(locks().history({.key = key_}).empty());
}

TEST_P(Reentrancy, AConvertedLeaseKeepsItsLongerExpiryAndItsNote) {
    const Lease reader = must(locks().try_lock(
        key_, {.owner = "alice", .mode = Mode::shared, .ttl = 1h, .note = "reading"}));
    const Lease writer = must(ask("alice", Mode::exclusive, 1min));
    EXPECT_EQ(writer.expires_at, reader.expires_at);
    EXPECT_EQ(writer.note, "reading");
}

TEST_P(Reentrancy, MaxHoldCountsThroughConversions) {
    const auto locks = manager({.max_hold = 30min});
    const Lease reader =
        must(locks->try_lock(key_, {.owner = "alice", .mode = Mode::shared, .ttl = 20min}));
    const Lease writer = must(locks->try_lock(key_, {.owner = "alice", .ttl = 2h}));
    EXPECT_EQ(writer.expires_at, reader.granted_at + 30min);
}

LEASEHOLD_ON_EVERY_STORE(Reentrancy);

}  // namespace
}  // namespace leasehold::conformance
