#include <algorithm>

#include "conformance/conformance.hpp"

// Keys are compared as bytes, and a lock id belongs to one lease for ever.
namespace leasehold::conformance {
namespace {

class Keys : public ConformanceTest {};

// Keys of different bytes, most of which are equal in some collation.
std::vector<LockKey> lookalikes() {
    std::vector<LockKey> keys{{"Order", "k"},
                              {"Order", "K"},
                              {"Order", "k "},
                              {"Order", " k"},
                              {"Order", "\u1e31"},   // k with acute, composed
                              {"Order", "k\u0301"},  // and decomposed
                              {"Order", "\u212a"},   // Kelvin sign
                              {"order", "k"},
                              {"Order ", "k"},
                              {"Orderk", "k"},
                              {"Order", "\u00df"},
                              {"Order", "ss"},
                              {"Order", "\U0001f512"},
                              {"Order", "\U0001f513"},
                              {"Order", "\U0001f468\u200d\U0001f469\u200d\U0001f467"},
                              {"Order", "01"},
                              {"Order", "1"},
                              {"Order", "1.0"},
                              {"Order", "%"},
                              {"Order", "_"},
                              {"Order", "'"},
                              {"Order", "\\"},
                              {"Order", "\\\\"},
                              {"Order", "\""},
                              {"Order", "null"},
                              {"Order", "{a,b}"},
                              {"a", "b/c"},
                              {"a/b", "c"},
                              {"\u00c5", "a"},
                              {"A\u030a", "a"},
                              {"\u212b", "a"}};
    keys.emplace_back(std::string(Limits::type_bytes, 't'), std::string(Limits::id_bytes, 'i'));
    keys.emplace_back(std::string(Limits::type_bytes, 't'), std::string(Limits::id_bytes - 1, 'i'));
    keys.emplace_back(std::string(Limits::type_bytes, 't'),
                      std::string(Limits::id_bytes - 1, 'i') + "j");
    return keys;
}

TEST_P(Keys, KeysThatDifferInAnyByteAreDifferentLocks) {
    std::vector<Lease> leases;
    for (const LockKey& key : lookalikes()) {
        const auto lease =
            locks().try_lock(key, {.owner = "owner of " + key.to_string().substr(0, 50)});
        ASSERT_TRUE(granted(lease)) << key.to_string();
        EXPECT_EQ(lease->key, key);
        leases.push_back(*lease);
    }
    for (const Lease& lease : leases) {
        EXPECT_TRUE(held(locks().try_lock(lease.key), {lease.owner})) << lease.key.to_string();
        const auto holders = locks().holders(lease.key);
        ASSERT_EQ(holders.size(), 1U);
        EXPECT_EQ(holders.front(), holder_of(lease));
    }
    for (const Lease& lease : leases) {
        EXPECT_TRUE(granted(locks().release(lease.key, lease.lock_id))) << lease.key.to_string();
    }
    EXPECT_TRUE(locks().list().empty());
}

TEST_P(Keys, LookalikesAreTakenAllAtOnceToo) {
    const std::vector<Lease> leases = must(locks().try_lock_all(lookalikes(), {.owner = "alice"}));
    EXPECT_EQ(leases.size(), lookalikes().size());
    EXPECT_EQ(must(locks().release_all("alice")).size(), lookalikes().size());
}

TEST_P(Keys, OwnersAndNotesAreKeptByteByByte) {
    const std::vector<std::string> texts{"alice",      "Alice",       "alice ",     " alice",
                                         "\u00e1lice", "a\u0301lice", "\U0001f600", "o'neil",
                                         "a\\b",       "100%_"};
    int id = 0;
    for (const std::string& text : texts) {
        const LockKey key{"Order", std::to_string(++id)};
        const Lease lease =
            must(locks().try_lock(key, {.owner = text, .note = text + "\n\t" + text}));
        const auto holders = locks().holders(key);
        ASSERT_EQ(holders.size(), 1U);
        EXPECT_EQ(holders.front().owner, text);
        EXPECT_EQ(holders.front().note, text + "\n\t" + text);
    }
    for (const std::string& text : texts) {
        EXPECT_EQ(owners_of(locks().list({.owner = text})), std::vector{text});
        EXPECT_EQ(owners_of(must(locks().release_all(text))), std::vector{text});
    }
}

TEST_P(Keys, TheLongestTextsAreKeptWhole) {
    const LockKey key{std::string(Limits::type_bytes, 't'), std::string(Limits::id_bytes, 'i')};
    const std::string owner(Limits::owner_bytes, 'o');
    const std::string note(Limits::note_bytes, 'n');
    const Lease lease = must(locks().try_lock(key, {.owner = owner, .note = note}));
    EXPECT_EQ(locks().holders(key).front(), holder_of(lease));
    (void)must(locks().break_lock(key, lease.fence, owner, note));
    EXPECT_TRUE(gone(locks().check(key, lease.lock_id), Gone::broken, owner, note));
    const auto past = locks().history({.key = key});
    ASSERT_EQ(past.size(), 1U);
    EXPECT_EQ(past.front().lease, holder_of(lease));
}

TEST_P(Keys, TheLongestTextsOfFourByteCharactersAreKeptWhole) {
    const auto repeat = [](std::size_t bytes) {
        std::string text;
        while (text.size() < bytes) text += "\U0001f512";
        return text;
    };
    const LockKey key{repeat(Limits::type_bytes), repeat(Limits::id_bytes)};
    const Lease lease = must(locks().try_lock(
        key, {.owner = repeat(Limits::owner_bytes), .note = repeat(Limits::note_bytes)}));
    EXPECT_EQ(locks().holders(key).front(), holder_of(lease));
    const Lease shared =
        must(locks().try_lock({"Order", "1"}, {.owner = repeat(Limits::owner_bytes),
                                               .mode = Mode::shared,
                                               .note = repeat(Limits::note_bytes)}));
    EXPECT_EQ(locks().holders(shared.key).front(), holder_of(shared));
}

TEST_P(Keys, WhatIsNoKeyIsRefusedBeforeTheStoreSeesIt) {
    const auto refused = [](std::string_view type, std::string_view id) {
        const auto key = LockKey::parse(type, id);
        bool thrown = false;
        try {
            (void)LockKey{std::string{type}, std::string{id}};
        } catch (const BadRequest& problem) {
            thrown = true;
            EXPECT_EQ(key ? "" : key.error(), problem.what());
        }
        EXPECT_EQ(!key, thrown);
        return thrown;
    };
    using namespace std::string_view_literals;
    EXPECT_FALSE(refused("Order", "1"));
    EXPECT_TRUE(refused("", "1"));
    EXPECT_TRUE(refused("Order", ""));
    EXPECT_TRUE(refused(std::string(Limits::type_bytes + 1, 't'), "1"));
    EXPECT_TRUE(refused("Order", std::string(Limits::id_bytes + 1, 'i')));
    EXPECT_TRUE(refused("Order", "a\0b"sv));
    EXPECT_TRUE(refused("Ord\ner", "1"));
    EXPECT_TRUE(refused("Order", "a\x7f"));
    EXPECT_TRUE(refused("Order", "\x80"));              // a continuation without a start
    EXPECT_TRUE(refused("Order", "\xc3"));              // a start without its continuation
    EXPECT_TRUE(refused("Order", "\xc0\xaf"));          // overlong
    EXPECT_TRUE(refused("Order", "\xe0\x80\xaf"));      // overlong
    EXPECT_TRUE(refused("Order", "\xed\xa0\x80"));      // a surrogate
    EXPECT_TRUE(refused("Order", "\xf4\x90\x80\x80"));  // beyond U+10FFFF
    EXPECT_TRUE(refused("Order", "\xff"));
}

LEASEHOLD_ON_EVERY_STORE(Keys);

class LockIds : public ConformanceTest {
protected:
    // A refusal, or a fault without effect: using one lock id for two keys is the caller's mistake.
    void expect_not_granted(const LockKey& key) {
        try {
            EXPECT_FALSE(granted(locks().try_lock(key, {.owner = "alice", .lock_id = id_})));
        } catch (const StoreFault& fault) {
            EXPECT_EQ(fault.effect(), StoreFault::Effect::none) << fault.what();
            EXPECT_EQ(fault.cause(), StoreFault::Cause::lock_id_in_use) << fault.what();
        }
    }

    const LockKey key_{"Order", "1"};
    const LockId id_ = LockId::random();
};

TEST_P(LockIds, AskingAgainWithTheSameLockIdGivesTheSameLease) {
    const Lease first = must(locks().try_lock(key_, {.owner = "alice", .lock_id = id_}));
    EXPECT_EQ(first.lock_id, id_);
    const Lease again = must(manager()->try_lock(key_, {.owner = "alice", .lock_id = id_}));
    EXPECT_EQ(again.lock_id, id_);
    EXPECT_EQ(holder_of(again), holder_of(first));
}

TEST_P(LockIds, AnonymousAskersCanSettleALostAnswerToo) {
    const Lease first = must(locks().try_lock(key_, {.lock_id = id_}));
    const Lease again = must(locks().try_lock(key_, {.lock_id = id_}));
    EXPECT_EQ(holder_of(again), holder_of(first));
    EXPECT_TRUE(held(locks().try_lock(key_), {""}));
}

TEST_P(LockIds, ASharedLeaseIsGivenBackByItsLockIdToo) {
    const Lease first = must(locks().try_lock(key_, {.mode = Mode::shared, .lock_id = id_}));
    (void)must(locks().try_lock(key_, {.owner = "bob", .mode = Mode::shared}));
    const Lease again = must(locks().try_lock(key_, {.mode = Mode::shared, .lock_id = id_}));
    EXPECT_EQ(holder_of(again), holder_of(first));
    EXPECT_EQ(locks().holders(key_).size(), 2U);
}

TEST_P(LockIds, AReleasedLockIdNeverLivesAgain) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice", .lock_id = id_}));
    EXPECT_TRUE(granted(locks().release(lease.lock_id)));
    EXPECT_TRUE(gone(locks().try_lock(key_, {.owner = "alice", .lock_id = id_}), Gone::released));
    EXPECT_TRUE(locks().holders(key_).empty());
}

TEST_P(LockIds, AnExpiredLockIdNeverLivesAgain) {
    (void)must(locks().try_lock(key_, {.owner = "alice", .ttl = 1min, .lock_id = id_}));
    let_pass(2min);
    EXPECT_TRUE(gone(locks().try_lock(key_, {.owner = "alice", .lock_id = id_}), Gone::expired));
    EXPECT_TRUE(locks().holders(key_).empty());
}

TEST_P(LockIds, ABrokenLockIdNeverLivesAgain) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice", .lock_id = id_}));
    (void)must(locks().break_lock(key_, lease.fence, "admin", "urgent"));
    EXPECT_TRUE(gone(locks().try_lock(key_, {.owner = "alice", .lock_id = id_}), Gone::broken,
                     "admin", "urgent"));
}

TEST_P(LockIds, ATakenLockIdNeverLivesAgainNotEvenWhenTheKeyIsFree) {
    (void)must(locks().try_lock(key_, {.owner = "alice", .ttl = 1min, .lock_id = id_}));
    let_pass(2min);
    const Lease next = must(locks().try_lock(key_, {.owner = "bob"}));
    EXPECT_TRUE(gone(locks().try_lock(key_, {.lock_id = id_}), Gone::taken, "bob"));
    EXPECT_TRUE(granted(locks().release(next.lock_id)));
    EXPECT_TRUE(gone(locks().try_lock(key_, {.lock_id = id_}), Gone::taken, "bob"));
    const Lease third = must(locks().try_lock(key_, {.owner = "carol"}));
    EXPECT_TRUE(gone(locks().try_lock(key_, {.lock_id = id_}), Gone::taken, "bob"));
    EXPECT_TRUE(granted(locks().check(third.lock_id)));
}

TEST_P(LockIds, ALiveLockIdOfOneKeyGrantsNoOther) {
    const LockKey other{"Order", "2"};
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice", .lock_id = id_}));
    expect_not_granted(other);
    EXPECT_TRUE(locks().holders(other).empty());
    EXPECT_EQ(holder_of(must(locks().check(key_, id_))), holder_of(lease));
}

TEST_P(LockIds, ADeadLockIdOfOneKeyGrantsNoOther) {
    const LockKey other{"Order", "2"};
    (void)must(locks().try_lock(key_, {.owner = "alice", .lock_id = id_}));
    EXPECT_TRUE(granted(locks().release(id_)));
    expect_not_granted(other);
    (void)must(locks().try_lock(key_, {.owner = "bob"}));
    expect_not_granted(other);
    EXPECT_TRUE(locks().holders(other).empty());
    EXPECT_TRUE(gone(locks().check(id_), Gone::released));
}

TEST_P(LockIds, ALockIdUsedForTwoKeysSpoilsNoOtherRequestOfItsBatch) {
    const auto store = harness().open();
    const std::vector<Request> batch{
        TryLock{.key = {"Order", "before"}, .lock_id = LockId::random(), .ttl = 1min},
        TryLock{.key = key_, .lock_id = id_, .ttl = 1min},
        TryLock{.key = {"Order", "2"}, .lock_id = id_, .ttl = 1min},
        TryLock{.key = {"Order", "after"}, .lock_id = LockId::random(), .ttl = 1min}};
    std::vector<Outcome> outcomes(batch.size());
    ASSERT_NO_THROW(store->apply(batch, outcomes));
    EXPECT_TRUE(std::holds_alternative<Lease>(outcomes[0]));
    EXPECT_TRUE(std::holds_alternative<Lease>(outcomes[1]));
    EXPECT_FALSE(std::holds_alternative<Lease>(outcomes[2]));
    EXPECT_TRUE(std::holds_alternative<Lease>(outcomes[3]));
}

TEST_P(LockIds, ALiveLockIdGrantsNoOtherKeyInAnyMode) {
    const LockKey other{"Order", "2"};
    for (const Mode mode : {Mode::exclusive, Mode::shared}) {
        for (const Mode other_mode : {Mode::exclusive, Mode::shared}) {
            SCOPED_TRACE(std::string{to_string(mode)} + ", then " + to_string(other_mode));
            const LockId id = LockId::random();
            const Lease lease =
                must(locks().try_lock(key_, {.owner = "alice", .mode = mode, .lock_id = id}));
            EXPECT_THROW(
                (void)locks().try_lock(other, {.owner = "bob", .mode = other_mode, .lock_id = id}),
                StoreFault);
            EXPECT_TRUE(locks().holders(other).empty());
            EXPECT_EQ(holder_of(must(locks().check(key_, id))), holder_of(lease));
            const Lease theirs = must(locks().try_lock(other, {.owner = "carol"}));
            EXPECT_TRUE(granted(locks().release(theirs.lock_id)));
            EXPECT_TRUE(granted(locks().release(key_, id)));
        }
    }
}

TEST_P(LockIds, ALiveLockIdGrantsNoOtherKeyAmongMany) {
    const LockKey other{"Order", "2"}, third{"Order", "3"};
    for (const Mode mode : {Mode::exclusive, Mode::shared}) {
        SCOPED_TRACE(to_string(mode));
        const LockId id = LockId::random();
        const Lease lease = must(locks().try_lock(key_, {.owner = "alice", .lock_id = id}));
        const auto store = harness().open();
        const std::vector<Request> batch{TryLockAll{.keys = {other, third},
                                                    .lock_ids = {id, LockId::random()},
                                                    .owner = "bob",
                                                    .mode = mode,
                                                    .ttl = 1min}};
        std::vector<Outcome> outcomes(1);
        ASSERT_NO_THROW(store->apply(batch, outcomes));
        ASSERT_TRUE(std::holds_alternative<StoreFault>(outcomes[0]));
        const auto& fault = std::get<StoreFault>(outcomes[0]);
        EXPECT_EQ(fault.cause(), StoreFault::Cause::lock_id_in_use);
        EXPECT_TRUE(std::string{fault.what()}.contains("another key"));
        EXPECT_TRUE(locks().holders(other).empty());
        EXPECT_TRUE(locks().holders(third).empty());
        EXPECT_EQ(holder_of(must(locks().check(key_, id))), holder_of(lease));
        EXPECT_TRUE(granted(locks().release(key_, id)));
    }
}

TEST_P(LockIds, ARefusedLockIdMayBeTriedAgain) {
    const Lease theirs = must(locks().try_lock(key_, {.owner = "bob"}));
    EXPECT_TRUE(held(locks().try_lock(key_, {.owner = "alice", .lock_id = id_}), {"bob"}));
    EXPECT_TRUE(granted(locks().release(theirs.lock_id)));
    EXPECT_EQ(must(locks().try_lock(key_, {.owner = "alice", .lock_id = id_})).lock_id, id_);
}

LEASEHOLD_ON_EVERY_STORE(LockIds);

}  // namespace
}  // namespace leasehold::conformance
