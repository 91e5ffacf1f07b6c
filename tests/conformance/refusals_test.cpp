#include "conformance/conformance.hpp"

// Every refusal is true: it says who holds the key, or how a lease ended, even long after.
namespace leasehold::conformance {
namespace {

class Refusals : public ConformanceTest {
protected:
    // All requests that say how a lease ended say the same.
    void expect_gone(LockManager& locks, const LockId& id, Gone reason, const std::string& by = {},
                     const std::string& why = {}) {
        EXPECT_TRUE(gone(locks.check(key_, id), reason, by, why));
        EXPECT_TRUE(gone(locks.check(id), reason, by, why));
        EXPECT_TRUE(gone(locks.extend(key_, id, 1min), reason, by, why));
        EXPECT_TRUE(gone(locks.extend(id, 1min), reason, by, why));
        EXPECT_TRUE(gone(locks.renew(key_, id, 1min), reason, by, why));
        EXPECT_TRUE(gone(locks.renew(id, 1min), reason, by, why));
        EXPECT_TRUE(gone(locks.release(key_, id), reason, by, why));
        EXPECT_TRUE(gone(locks.release(id), reason, by, why));
    }

    // The key is granted to others and freed again, several times.
    void let_others_have_it(LockManager& locks) {
        for (const char* owner : {"xavier", "yvonne", "zoe"}) {
            const Lease lease = must(locks.try_lock(key_, {.owner = owner}));
            EXPECT_TRUE(granted(locks.release(lease.lock_id)));
        }
        (void)must(locks.try_lock(key_, {.owner = "zoe", .ttl = 2min}));
        let_pass(3min);
        (void)must(locks.try_lock(key_, {.owner = "bob"}));
    }

    static StoreOptions without_history() { return {.history = StoreOptions::KeepHistory::off}; }

    const LockKey key_{"Order", "1"};
};

TEST_P(Refusals, HeldTellsOwnerModeFenceSinceUntilAndNote) {
    const Lease lease =
        must(locks().try_lock(key_, {.owner = "alice", .ttl = 7min, .note = "year-end\nclosing"}));
    const auto refused = locks().try_lock(key_, {.owner = "bob"});
    ASSERT_TRUE(held(refused, {"alice"}));
    const Holder& holder = refused.error().holders.front();
    EXPECT_EQ(holder.key, key_);
    EXPECT_EQ(holder.mode, Mode::exclusive);
    EXPECT_EQ(holder.fence, lease.fence);
    EXPECT_EQ(holder.granted_at, lease.granted_at);
    EXPECT_EQ(holder.expires_at, lease.expires_at);
    EXPECT_EQ(holder.note, "year-end\nclosing");
    EXPECT_TRUE(about(holder.expires_at - refused.error().store_now, 7min));
}

TEST_P(Refusals, AReleaseOfWhatWasSeenLeavesALeaseThatWasProlongedSince) {
    const auto store = harness().open();
    for (const Mode mode : {Mode::exclusive, Mode::shared}) {
        const Lease seen = must(locks().try_lock(key_, {.owner = "alice", .mode = mode}));
        const Lease renewed = must(locks().renew(key_, seen.lock_id, 30min));
        const std::vector<Request> releases{
            Release{key_, seen.lock_id, seen.expires_at},
            Release{{}, seen.lock_id, seen.expires_at},
            Release{key_, seen.lock_id, renewed.expires_at},
            Release{key_, seen.lock_id, renewed.expires_at},
        };
        std::vector<Outcome> outcomes(releases.size());
        for (std::size_t i = 0; i < releases.size(); ++i) {
            store->apply({&releases[i], 1}, {&outcomes[i], 1});
        }
        for (const std::size_t early : {0U, 1U}) {
            const auto* refusal = std::get_if<Refusal>(&outcomes[early]);
            ASSERT_NE(refusal, nullptr);
            EXPECT_TRUE(refusal_is_held(*refusal, {"alice"}));
            EXPECT_EQ(refusal->holders.front(), holder_of(renewed));
        }
        EXPECT_TRUE(std::holds_alternative<Lease>(outcomes[2]));
        ASSERT_TRUE(std::holds_alternative<Refusal>(outcomes[3]));
        EXPECT_TRUE(refusal_is_gone(std::get<Refusal>(outcomes[3]), Gone::released, {}, {}));
    }
}

TEST_P(Refusals, HeldShowsARenewedExpiry) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice", .ttl = 1min}));
    const Lease renewed = must(locks().renew(lease.lock_id, 30min));
    const auto refused = locks().try_lock(key_, {.owner = "bob"});
    ASSERT_TRUE(held(refused, {"alice"}));
    EXPECT_EQ(refused.error().holders.front().expires_at, renewed.expires_at);
}

TEST_P(Refusals, AnExpiredLeaseIsGoneAsExpired) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice", .ttl = 1min}));
    let_pass(2min);
    expect_gone(locks(), lease.lock_id, Gone::expired);
}

TEST_P(Refusals, AReleasedLeaseIsGoneAsReleased) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice"}));
    EXPECT_TRUE(granted(locks().release(lease.lock_id)));
    expect_gone(locks(), lease.lock_id, Gone::released);
}

TEST_P(Refusals, ATakenLeaseIsGoneAsTakenByTheNextOwner) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice", .ttl = 1min}));
    let_pass(2min);
    (void)must(locks().try_lock(key_, {.owner = "bob"}));
    expect_gone(locks(), lease.lock_id, Gone::taken, "bob");
}

TEST_P(Refusals, ABrokenLeaseIsGoneByWhomAndWhy) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice"}));
    (void)must(locks().break_lock(key_, lease.fence, "admin", "alice went home"));
    expect_gone(locks(), lease.lock_id, Gone::broken, "admin", "alice went home");
}

TEST_P(Refusals, AnUnheardOfLeaseIsGoneAsUnknown) {
    expect_gone(locks(), LockId::random(), Gone::unknown);
    (void)must(locks().try_lock(key_, {.owner = "alice"}));
    expect_gone(locks(), LockId::random(), Gone::unknown);
}

TEST_P(Refusals, AReleaseIsRememberedAfterTheKeyWasGrantedToOthers) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice"}));
    EXPECT_TRUE(granted(locks().release(lease.lock_id)));
    let_others_have_it(locks());
    expect_gone(locks(), lease.lock_id, Gone::released);
}

TEST_P(Refusals, ATakeOverIsRememberedAfterTheKeyWasGrantedToOthers) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice", .ttl = 1min}));
    let_pass(2min);
    const Lease next = must(locks().try_lock(key_, {.owner = "carol"}));
    EXPECT_TRUE(granted(locks().release(next.lock_id)));
    let_others_have_it(locks());
    expect_gone(locks(), lease.lock_id, Gone::taken, "carol");
}

TEST_P(Refusals, ABreakIsRememberedAfterTheKeyWasGrantedToOthers) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice"}));
    (void)must(locks().break_lock(key_, lease.fence, "admin", "urgent"));
    let_others_have_it(locks());
    expect_gone(locks(), lease.lock_id, Gone::broken, "admin", "urgent");
}

TEST_P(Refusals, EveryProcessIsToldTheSame) {
    const auto other = manager();
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice", .ttl = 1min}));
    let_pass(2min);
    (void)must(other->try_lock(key_, {.owner = "bob"}));
    expect_gone(*other, lease.lock_id, Gone::taken, "bob");
    expect_gone(locks(), lease.lock_id, Gone::taken, "bob");
}

TEST_P(Refusals, AnAnonymousTakeOverHasNoName) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice", .ttl = 1min}));
    let_pass(2min);
    (void)must(locks().try_lock(key_));
    expect_gone(locks(), lease.lock_id, Gone::taken, "");
}

TEST_P(Refusals, WithoutHistoryTheLastEndingIsKnownUntilTheKeyIsGrantedAgain) {
    const auto locks = manager({}, without_history());
    const Lease released = must(locks->try_lock(key_, {.owner = "alice"}));
    EXPECT_TRUE(granted(locks->release(released.lock_id)));
    expect_gone(*locks, released.lock_id, Gone::released);

    const Lease broken = must(locks->try_lock(key_, {.owner = "alice"}));
    expect_gone(*locks, released.lock_id, Gone::unknown);
    (void)must(locks->break_lock(key_, broken.fence, "admin", "urgent"));
    expect_gone(*locks, broken.lock_id, Gone::broken, "admin", "urgent");

    const Lease expired = must(locks->try_lock(key_, {.owner = "alice", .ttl = 1min}));
    expect_gone(*locks, broken.lock_id, Gone::unknown);
    let_pass(2min);
    expect_gone(*locks, expired.lock_id, Gone::expired);

    (void)must(locks->try_lock(key_, {.owner = "bob"}));
    expect_gone(*locks, expired.lock_id, Gone::unknown);
    EXPECT_TRUE(locks->history().empty());
}

TEST_P(Refusals, WithoutHistoryExclusionAndFencesAreTheSame) {
    const auto locks = manager({}, without_history());
    Fence last = 0;
    for (int i = 0; i < 5; ++i) {
        const Lease lease = must(locks->try_lock(key_, {.owner = "alice", .ttl = 1min}));
        EXPECT_GT(lease.fence, last);
        last = lease.fence;
        EXPECT_TRUE(held(locks->try_lock(key_, {.owner = "bob"}), {"alice"}));
        if (i % 2 == 0) {
            EXPECT_TRUE(granted(locks->release(lease.lock_id)));
        } else {
            let_pass(2min);
        }
    }
}

TEST_P(Refusals, ALockIdOfAnotherKeyIsUnknownToThisOne) {
    const LockKey other{"Order", "2"};
    const Lease mine = must(locks().try_lock(other, {.owner = "alice"}));
    const Lease theirs = must(locks().try_lock(key_, {.owner = "bob"}));
    EXPECT_TRUE(gone(locks().check(key_, mine.lock_id), Gone::unknown));
    EXPECT_TRUE(gone(locks().extend(key_, mine.lock_id, 1min), Gone::unknown));
    EXPECT_TRUE(gone(locks().renew(key_, mine.lock_id, 1min), Gone::unknown));
    EXPECT_TRUE(gone(locks().release(key_, mine.lock_id), Gone::unknown));
    EXPECT_EQ(holder_of(must(locks().check(other, mine.lock_id))), holder_of(mine));
    EXPECT_EQ(holder_of(must(locks().check(key_, theirs.lock_id))), holder_of(theirs));
}

TEST_P(Refusals, ADeadLockIdOfAnotherKeyIsUnknownToThisOne) {
    const LockKey other{"Order", "2"};
    const Lease dead = must(locks().try_lock(other, {.owner = "alice"}));
    EXPECT_TRUE(granted(locks().release(dead.lock_id)));
    EXPECT_TRUE(gone(locks().check(key_, dead.lock_id), Gone::unknown));
    let_pass(1min);
    (void)must(locks().try_lock(other, {.owner = "bob"}));
    EXPECT_TRUE(gone(locks().check(key_, dead.lock_id), Gone::unknown));
    EXPECT_TRUE(gone(locks().check(other, dead.lock_id), Gone::released));
}

TEST_P(Refusals, NoRefusalShowsALockId) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice", .note = "editing"}));
    const std::string secret = lease.lock_id.to_string();
    const auto refused = locks().try_lock(key_, {.owner = "bob"});
    ASSERT_TRUE(held(refused, {"alice"}));
    EXPECT_EQ(refused.error().message().find(secret), std::string::npos);
    const Lease broken = must(locks().break_lock(key_, lease.fence, "admin", "urgent"));
    EXPECT_EQ(holder_of(broken), holder_of(lease));
    const auto ended = locks().check(lease.lock_id);
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error().message().find(secret), std::string::npos);
}

LEASEHOLD_ON_EVERY_STORE(Refusals);

}  // namespace
}  // namespace leasehold::conformance
