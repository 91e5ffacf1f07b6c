#include "conformance/conformance.hpp"

// After guard() succeeds in the caller's own transaction, nobody can take the key before the
// transaction ends. A write with a dead or foreign lease fails. Nothing that Leasehold does spoils
// the caller's transaction.
namespace leasehold::conformance {
namespace {

class Guard : public SqlConformanceTest {
protected:
    // A dead or foreign lock id is refused, and the transaction is unaffected.
    template <class... Expected>
    void expect_refused_and_usable(const LockKey& key, LockId id, Expected... expected) {
        const auto transaction = harness().begin();
        transaction->write("before", "written before the refusal");
        EXPECT_TRUE(gone(transaction->guard(key, id), expected...));
        EXPECT_TRUE(gone(transaction->release(key, id), expected...));
        transaction->write("after", "written after the refusal");
        transaction->commit();
        EXPECT_EQ(read("before"), "written before the refusal");
        EXPECT_EQ(read("after"), "written after the refusal");
    }

    std::string read(const std::string& record) { return harness().connect()->read(record); }

    const LockKey key_{"Order", "1"};
};

TEST_P(Guard, OfALiveLeaseGivesTheLease) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice", .note = "editing"}));
    const auto transaction = harness().begin();
    const Lease guarded = must(transaction->guard(key_, lease.lock_id));
    EXPECT_EQ(guarded.lock_id, lease.lock_id);
    EXPECT_EQ(holder_of(guarded), holder_of(lease));
    EXPECT_GE(guarded.store_now, lease.store_now);
    transaction->write("order", "saved");
    transaction->commit();
    EXPECT_EQ(read("order"), "saved");
    EXPECT_EQ(holder_of(must(locks().check(lease.lock_id))), holder_of(lease));
}

TEST_P(Guard, OfASharedLeaseGivesTheLeaseToo) {
    const Lease alice = must(locks().try_lock(key_, {.owner = "alice", .mode = Mode::shared}));
    const Lease bob = must(locks().try_lock(key_, {.owner = "bob", .mode = Mode::shared}));
    const auto transaction = harness().begin();
    EXPECT_EQ(holder_of(must(transaction->guard(key_, alice.lock_id))), holder_of(alice));
    transaction->commit();
    EXPECT_TRUE(granted(locks().check(bob.lock_id)));
}

TEST_P(Guard, WhileTheTransactionIsOpenNobodyTakesTheKeyEvenAfterItExpired) {
    const auto [lease, transaction] = guard_briefly(harness(), locks(), key_, 300ms);
    wait_out(400ms);
    // The call returns before we commit, which shows that it does not wait for us.
    EXPECT_TRUE(held(locks().try_lock(key_, {.owner = "bob"}), {"alice"}));
    EXPECT_TRUE(held(locks().try_lock(key_, {.owner = "bob", .mode = Mode::shared}), {"alice"}));
    EXPECT_TRUE(held(locks().try_lock_all({key_}, {.owner = "bob"}), {"alice"}));
    transaction->write("order", "saved in time");
    transaction->commit();
    EXPECT_TRUE(granted(locks().try_lock(key_, {.owner = "bob"})));
    EXPECT_EQ(read("order"), "saved in time");
}

TEST_P(Guard, ALiveLeaseIsRefusedToOthersAtOnceWhileItIsGuarded) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice"}));
    const auto transaction = harness().begin();
    ASSERT_TRUE(granted(transaction->guard(key_, lease.lock_id)));
    EXPECT_TRUE(held(manager()->try_lock(key_, {.owner = "bob"}), {"alice"}));
    EXPECT_EQ(locks().holders(key_).size(), 1U);
    EXPECT_TRUE(granted(locks().check(key_, lease.lock_id)));
    EXPECT_EQ(locks().list().size(), 1U);
    transaction->rollback();
    EXPECT_TRUE(held(locks().try_lock(key_, {.owner = "bob"}), {"alice"}));
}

TEST_P(Guard, OfAnExpiredLeaseRefusesEvenIfNobodyTookIt) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice", .ttl = 1min}));
    let_pass(2min);
    expect_refused_and_usable(key_, lease.lock_id, Gone::expired);
}

TEST_P(Guard, OfATakenLeaseRefusesAndNamesTheNext) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice", .ttl = 1min}));
    let_pass(2min);
    (void)must(locks().try_lock(key_, {.owner = "bob"}));
    expect_refused_and_usable(key_, lease.lock_id, Gone::taken, "bob");
}

TEST_P(Guard, OfAReleasedLeaseRefuses) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice"}));
    EXPECT_TRUE(granted(locks().release(lease.lock_id)));
    expect_refused_and_usable(key_, lease.lock_id, Gone::released);
    (void)must(locks().try_lock(key_, {.owner = "bob"}));
    expect_refused_and_usable(key_, lease.lock_id, Gone::released);
}

TEST_P(Guard, OfABrokenLeaseRefusesWithByWhomAndWhy) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice"}));
    (void)must(locks().break_lock(key_, lease.fence, "admin", "urgent"));
    expect_refused_and_usable(key_, lease.lock_id, Gone::broken, "admin", "urgent");
}

TEST_P(Guard, OfAForeignLockIdRefuses) {
    (void)must(locks().try_lock(key_, {.owner = "alice"}));
    expect_refused_and_usable(key_, LockId::random(), Gone::unknown);
}

TEST_P(Guard, OfALockIdOfAnotherKeyRefuses) {
    const LockKey other{"Order", "2"};
    (void)must(locks().try_lock(key_, {.owner = "alice"}));
    const Lease elsewhere = must(locks().try_lock(other, {.owner = "bob"}));
    expect_refused_and_usable(key_, elsewhere.lock_id, Gone::unknown);
    EXPECT_TRUE(granted(locks().check(other, elsewhere.lock_id)));
}

TEST_P(Guard, OfAKeyThatWasNeverLockedRefuses) {
    (void)locks();
    expect_refused_and_usable({"Order", "never locked"}, LockId::random(), Gone::unknown);
}

TEST_P(Guard, AReaderThatExpiredIsRefusedAmongOthersThatLive) {
    const Lease brief =
        must(locks().try_lock(key_, {.owner = "alice", .mode = Mode::shared, .ttl = 1min}));
    (void)must(locks().try_lock(key_, {.owner = "bob", .mode = Mode::shared, .ttl = 1h}));
    let_pass(2min);
    expect_refused_and_usable(key_, brief.lock_id, Gone::expired);
}

TEST_P(Guard, ARefusalOnANewKeyBlocksNobodysNewKeys) {
    (void)locks();
    const auto transaction = harness().begin();
    EXPECT_TRUE(gone(transaction->guard({"Order", "5"}, LockId::random()), Gone::unknown));
    if (harness().other_keys_beside_a_transaction() == SqlHarness::OtherKeys::granted) {
        for (int i = 0; i < 10; ++i) {
            EXPECT_TRUE(granted(locks().try_lock({"Order", std::to_string(i)}, {.owner = "bob"})))
                << i;
        }
    }
    transaction->commit();
    EXPECT_TRUE(granted(locks().try_lock({"Order", "5"}, {.owner = "bob"})));
}

TEST_P(Guard, OtherKeysAreServedWhileATransactionIsOpen) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice"}));
    const Lease elsewhere = must(locks().try_lock({"Order", "2"}, {.owner = "bob"}));
    const auto transaction = harness().begin();
    ASSERT_TRUE(granted(transaction->guard(key_, lease.lock_id)));
    const auto fresh = locks().try_lock({"Order", "3"}, {.owner = "carol"});
    const auto renewed = locks().renew(elsewhere.lock_id, 1h);
    if (harness().other_keys_beside_a_transaction() == SqlHarness::OtherKeys::granted) {
        EXPECT_TRUE(granted(fresh));
        EXPECT_TRUE(granted(renewed));
        EXPECT_TRUE(granted(locks().release(elsewhere.lock_id)));
        EXPECT_TRUE(granted(locks().try_lock({"Order", "2"}, {.owner = "dave"})));
    } else {
        // Refused for the moment, without naming a holder.
        if (!fresh) {
            EXPECT_TRUE(fresh.error().holders.empty()) << fresh.error().message();
        }
        if (!renewed) {
            EXPECT_EQ(renewed.error().kind, Refusal::Kind::busy);
        }
    }
    transaction->commit();
    EXPECT_TRUE(granted(locks().try_lock({"Order", "3"}, {.owner = "carol"})));
}

TEST_P(Guard, ReleasedInTheTransactionTheLeaseEndsWithItsCommit) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice"}));
    const auto transaction = harness().begin();
    ASSERT_TRUE(granted(transaction->guard(key_, lease.lock_id)));
    transaction->write("order", "saved");
    EXPECT_EQ(holder_of(must(transaction->release(key_, lease.lock_id))), holder_of(lease));
    EXPECT_TRUE(held(locks().try_lock(key_, {.owner = "bob"}), {"alice"}));
    transaction->commit();
    EXPECT_TRUE(gone(locks().check(key_, lease.lock_id), Gone::released));
    const Lease next = must(locks().try_lock(key_, {.owner = "bob"}));
    EXPECT_GT(next.fence, lease.fence);
    EXPECT_EQ(read("order"), "saved");
    const auto past = locks().history({.key = key_});
    ASSERT_EQ(past.size(), 1U);
    EXPECT_EQ(past.front().how, Gone::released);
    EXPECT_TRUE(gone(locks().check(key_, lease.lock_id), Gone::released));
}

TEST_P(Guard, ReleasedInATransactionThatIsRolledBackTheLeaseLivesOn) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice"}));
    const auto transaction = harness().begin();
    ASSERT_TRUE(granted(transaction->guard(key_, lease.lock_id)));
    EXPECT_TRUE(granted(transaction->release(key_, lease.lock_id)));
    transaction->rollback();
    EXPECT_EQ(holder_of(must(locks().check(key_, lease.lock_id))), holder_of(lease));
    EXPECT_TRUE(locks().history({.key = key_}).empty());
}

TEST_P(Guard, ReleaseAloneInATransactionIsEnough) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice"}));
    const auto transaction = harness().begin();
    EXPECT_TRUE(granted(transaction->release(key_, lease.lock_id)));
    EXPECT_TRUE(gone(transaction->release(key_, lease.lock_id), Gone::released));
    EXPECT_TRUE(gone(transaction->guard(key_, lease.lock_id), Gone::released));
    transaction->commit();
    EXPECT_TRUE(granted(locks().try_lock(key_, {.owner = "bob"})));
}

TEST_P(Guard, AReaderReleasedInATransactionLeavesTheOthers) {
    const Lease alice = must(locks().try_lock(key_, {.owner = "alice", .mode = Mode::shared}));
    const Lease bob = must(locks().try_lock(key_, {.owner = "bob", .mode = Mode::shared}));
    auto transaction = harness().begin();
    EXPECT_TRUE(granted(transaction->release(key_, alice.lock_id)));
    transaction->commit();
    EXPECT_TRUE(gone(locks().check(key_, alice.lock_id), Gone::released));
    EXPECT_TRUE(granted(locks().check(key_, bob.lock_id)));
    transaction->begin();
    EXPECT_TRUE(granted(transaction->release(key_, bob.lock_id)));
    transaction->commit();
    EXPECT_TRUE(gone(locks().check(key_, bob.lock_id), Gone::released));
    EXPECT_TRUE(granted(locks().try_lock(key_, {.owner = "carol"})));
}

TEST_P(Guard, ALateWriteFails) {
    const Lease late = must(locks().try_lock(key_, {.owner = "alice", .ttl = 1min}));
    let_pass(2min);
    const Lease next = must(locks().try_lock(key_, {.owner = "bob"}));
    const auto save = [&](LockId id, const std::string& text) {
        const auto transaction = harness().begin();
        if (!transaction->guard(key_, id)) return false;
        transaction->write("order", text);
        transaction->commit();
        return true;
    };
    EXPECT_TRUE(save(next.lock_id, "of bob"));
    EXPECT_FALSE(save(late.lock_id, "of alice, too late"));
    EXPECT_EQ(read("order"), "of bob");
}

TEST_P(Guard, OutsideATransactionIsAFault) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice"}));
    const auto connection = harness().connect();
    EXPECT_THROW((void)connection->guard(key_, lease.lock_id), StoreFault);
    EXPECT_THROW((void)connection->release(key_, lease.lock_id), StoreFault);
    EXPECT_TRUE(granted(locks().check(lease.lock_id)));
    connection->begin();
    EXPECT_TRUE(granted(connection->guard(key_, lease.lock_id)));
    connection->commit();
}

TEST_P(Guard, OnePersonsTransactionMayGuardSeveralKeys) {
    const std::vector<Lease> leases = must(
        locks().try_lock_all({{"Order", "1"}, {"Order", "2"}, {"Order", "3"}}, {.owner = "a"}));
    const auto transaction = harness().begin();
    for (const Lease& lease : leases) {
        EXPECT_TRUE(granted(transaction->guard(lease.key, lease.lock_id)));
        EXPECT_TRUE(granted(transaction->guard(lease.key, lease.lock_id)));
    }
    for (const Lease& lease : leases) {
        EXPECT_TRUE(granted(transaction->release(lease.key, lease.lock_id)));
    }
    transaction->commit();
    EXPECT_TRUE(locks().list().empty());
}

TEST_P(Guard, OfAMemberGuardsAndReleasesTheWholeAggregate) {
    const LockKey customer{"Customer", "7"};
    CoarseGrained aggregates{locks(), [&](const LockKey& member) {
                                 return member.type() == "Address" ? customer : member;
                             }};
    const LockKey home{"Address", "home"};
    const LockKey work{"Address", "work"};
    const Lease lease = must(aggregates.try_lock(home, {.owner = "alice"}));
    const auto transaction = harness().begin();
    EXPECT_TRUE(gone(transaction->guard(aggregates, key_, lease.lock_id), Gone::unknown));
    EXPECT_EQ(holder_of(must(transaction->guard(aggregates, work, lease.lock_id))),
              holder_of(lease));
    EXPECT_TRUE(held(aggregates.try_lock(customer, {.owner = "bob"}), {"alice"}));
    transaction->write("address", "saved");
    EXPECT_TRUE(granted(transaction->release(aggregates, home, lease.lock_id)));
    transaction->commit();
    EXPECT_EQ(read("address"), "saved");
    EXPECT_TRUE(gone(aggregates.check(work, lease.lock_id), Gone::released));
    EXPECT_TRUE(granted(aggregates.try_lock(work, {.owner = "bob"})));
}

LEASEHOLD_ON_EVERY_SQL_STORE(Guard);

}  // namespace
}  // namespace leasehold::conformance
