#include "conformance/protection_fixture.hpp"

// How a transaction presents a lease to a protected table, and for how long.
namespace leasehold::conformance {
namespace {

TEST_P(Protection, LetsTheHolderWriteAfterTheGuardUntilTheTransactionEnds) {
    protect();
    const Lease alice = lease("1");
    const auto pooled = session();
    pooled->begin();
    EXPECT_TRUE(refused(*pooled, "update orders set text = 'x' where id = 1", held_by_alice_));
    pooled->rollback();
    pooled->begin();
    ASSERT_TRUE(granted(pooled->guard(key_, alice.lock_id)));
    EXPECT_TRUE(written(*pooled, write_1_));
    EXPECT_TRUE(written(*pooled, "delete from orders where id = 1"));
    EXPECT_TRUE(written(*pooled, "insert into orders values (1, 'again')"));
    pooled->commit();
    EXPECT_EQ(text_of("1"), "again");

    // The next users of the same connection have presented nothing.
    EXPECT_TRUE(refused(*pooled, write_1_, held_by_alice_));
    pooled->begin();
    EXPECT_TRUE(refused(*pooled, write_1_, held_by_alice_));
    pooled->rollback();
    pooled->begin();
    ASSERT_TRUE(granted(pooled->guard(key_, alice.lock_id)));
    pooled->rollback();
    pooled->begin();
    EXPECT_TRUE(refused(*pooled, write_1_, held_by_alice_));
    pooled->rollback();
}

TEST_P(Protection, TakesTheGuardInPlainSqlToo) {
    protect();
    const Lease alice = lease("1");
    const auto other = session();
    other->begin();
    EXPECT_EQ(other->guard_in_sql(key_, alice.lock_id.to_string()), alice.fence);
    EXPECT_EQ(other->guard_in_sql(key_, alice.lock_id.to_string()), alice.fence);
    EXPECT_TRUE(written(*other, write_1_));
    EXPECT_TRUE(held(locks().try_lock(key_, {.owner = "bob"}), {"alice"}));
    other->commit();
    EXPECT_EQ(text_of("1"), "new");
    EXPECT_TRUE(refused(*other, write_1_, held_by_alice_));
}

TEST_P(Protection, TheGuardInSqlSaysWhyItRefuses) {
    protect();
    const auto failure = [&](const std::string& lock_id) {
        const auto other = session();
        other->begin();
        try {
            (void)other->guard_in_sql(key_, lock_id);
        } catch (const std::runtime_error& error) {
            EXPECT_EQ(std::string{error.what()}.find(lock_id), std::string::npos) << error.what();
            return std::string{error.what()};
        }
        return std::string{"it was granted"};
    };
    const std::string unknown = LockId::random().to_string();
    EXPECT_NE(failure(unknown).find("leasehold: no such lease is known"), std::string::npos)
        << failure(unknown);
    const Lease alice = must(locks().try_lock(key_, {.owner = "alice", .ttl = 1min}));
    const std::string mine = alice.lock_id.to_string();
    EXPECT_NE(failure(unknown).find(held_by_alice_), std::string::npos) << failure(unknown);
    let_pass(2min);
    EXPECT_NE(failure(mine).find("leasehold: the lease has expired"), std::string::npos)
        << failure(mine);
    const Lease bob = lease("1", "bob");
    EXPECT_TRUE(failure(mine).contains("leasehold: the lease has expired and ")) << failure(mine);
    EXPECT_TRUE(failure(mine).contains("took the key")) << failure(mine);
    EXPECT_NE(failure(mine).find("Order/1 is held by bob"), std::string::npos) << failure(mine);
    (void)must(locks().break_lock(key_, bob.fence, "admin", "urgent"));
    EXPECT_NE(failure(bob.lock_id.to_string()).find("leasehold: the lease was broken"),
              std::string::npos);
    const Lease carol = lease("1", "carol");
    (void)must(locks().release(carol.lock_id));
    EXPECT_NE(failure(carol.lock_id.to_string()).find("leasehold: the lease has been released"),
              std::string::npos);
    EXPECT_TRUE(granted(locks().try_lock(key_, {.owner = "dave"})));
}

TEST_P(Protection, TheGuardInSqlNeedsATransaction) {
    protect();
    const Lease alice = lease("1");
    const auto other = session();
    try {
        (void)other->guard_in_sql(key_, alice.lock_id.to_string());
        // PostgreSQL runs every statement in a transaction of its own.
    } catch (const std::runtime_error& error) {
        EXPECT_NE(std::string{error.what()}.find("leasehold: "), std::string::npos) << error.what();
    }
    EXPECT_TRUE(refused(*other, write_1_, held_by_alice_));
    EXPECT_TRUE(granted(locks().renew(alice.lock_id, 1h)));
}

TEST_P(Protection, ALaterSavepointKeepsWhatWasPresented) {
    protect();
    const Lease alice = lease("1");
    const auto other = session();
    other->begin();
    ASSERT_TRUE(granted(other->guard(key_, alice.lock_id)));
    other->run("savepoint here");
    EXPECT_TRUE(written(*other, "update orders set text = 'undone' where id = 1"));
    other->run("rollback to savepoint here");
    EXPECT_TRUE(written(*other, write_1_));
    other->commit();
    EXPECT_EQ(text_of("1"), "new");
}

TEST_P(Protection, AnEarlierSavepointTakesThePresentedLeaseBack) {
    protect();
    const Lease alice = lease("1");
    const auto other = session();
    other->begin();
    EXPECT_TRUE(written(*other, "update orders set text = 'kept' where id = 2"));
    for (const bool in_sql : {false, true}) {
        other->run("savepoint here");
        if (in_sql)
            (void)other->guard_in_sql(key_, alice.lock_id.to_string());
        else
            ASSERT_TRUE(granted(other->guard(key_, alice.lock_id)));
        other->run("rollback to savepoint here");
        EXPECT_TRUE(refused(*other, write_1_, held_by_alice_)) << in_sql;
        other->run("rollback to savepoint here");
    }
    ASSERT_TRUE(granted(other->guard(key_, alice.lock_id)));
    EXPECT_TRUE(written(*other, write_1_));
    other->commit();
    EXPECT_EQ(text_of("1"), "new");
}

TEST_P(Protection, APresentedLeaseThatExpiresBeforeTheWriteIsRefused) {
    protect();
    const auto [alice, transaction] = guard_briefly(harness(), locks(), key_, 300ms);
    wait_out(400ms);
    EXPECT_TRUE(refused(*transaction, write_1_, "expired"));
    transaction->rollback();
    EXPECT_EQ(text_of("1"), "old");
    EXPECT_TRUE(written(app(), write_1_));  // nobody has leased it any more
}

TEST_P(Protection, APresentedLeaseThatExpiresBetweenTwoWritesKeepsTheFirst) {
    protect();
    const auto [alice, transaction] = guard_briefly(harness(), locks(), key_, 300ms);
    transaction->run("savepoint guarded");
    const bool in_time = written(*transaction, write_1_);
    if (!in_time) transaction->run("rollback to savepoint guarded");
    wait_out(400ms);
    transaction->run("savepoint expired");
    EXPECT_TRUE(refused(*transaction, "update orders set text = 'late' where id = 1", "expired"));
    transaction->run("rollback to savepoint expired");
    // Nobody can take the key before the transaction ends.
    EXPECT_FALSE(manager({.busy_patience = 1ms})->try_lock(key_, {.owner = "bob"}));
    transaction->commit();
    EXPECT_EQ(text_of("1"), in_time ? "new" : "old");
    EXPECT_TRUE(granted(locks().try_lock(key_, {.owner = "bob"})));
}

TEST_P(Protection, ALeaseThatEndedIsNoneToPresent) {
    protect();
    const Lease alice = must(locks().try_lock(key_, {.owner = "alice", .ttl = 1min}));
    let_pass(2min);
    const Lease bob = lease("1", "bob");
    const auto other = session();
    other->begin();
    EXPECT_FALSE(other->guard(key_, alice.lock_id));
    EXPECT_TRUE(refused(*other, write_1_, "Order/1 is held by bob"));
    other->rollback();
    (void)must(locks().break_lock(key_, bob.fence, "admin", "urgent"));
    EXPECT_TRUE(written(app(), write_1_));
}

TEST_P(Protection, ALeaseThatWasReleasedInTheTransactionIsNoneToPresent) {
    protect();
    const Lease alice = lease("1");
    const auto other = session();
    other->begin();
    ASSERT_TRUE(granted(other->guard(key_, alice.lock_id)));
    EXPECT_TRUE(written(*other, write_1_));
    EXPECT_TRUE(granted(other->release(key_, alice.lock_id)));
    other->run("savepoint released");
    EXPECT_TRUE(refused(*other, "update orders set text = 'late' where id = 1",
                        "that this transaction presented has ended"));
    other->run("rollback to savepoint released");
    other->commit();
    EXPECT_EQ(text_of("1"), "new");
    EXPECT_TRUE(written(app(), "update orders set text = 'free' where id = 1"));
}

TEST_P(Protection, TheLeaseOfAnotherKeyIsNoneToPresent) {
    protect();
    (void)lease("1");
    const Lease bob = lease("2", "bob");
    const auto other = session();
    other->begin();
    ASSERT_TRUE(granted(other->guard({"Order", "2"}, bob.lock_id)));
    EXPECT_TRUE(written(*other, "update orders set text = 'new' where id = 2"));
    EXPECT_TRUE(refused(*other, write_1_, held_by_alice_));
}

TEST_P(Protection, NoTableButTheLocksKeepsALockId) {
    protect();
    const Lease alice = lease("1");
    const auto other = session();
    other->begin();
    ASSERT_TRUE(granted(other->guard(key_, alice.lock_id)));
    (void)other->guard_in_sql(key_, alice.lock_id.to_string());
    EXPECT_TRUE(written(*other, write_1_));
    other->commit();
    const std::string everything = harness().dump();
    const std::string id = alice.lock_id.to_string();
    const std::size_t first = everything.find(id);
    ASSERT_NE(first, std::string::npos);
    EXPECT_EQ(everything.find(id, first + 1), std::string::npos) << everything;
}

}  // namespace
}  // namespace leasehold::conformance
