#include "conformance/protection_fixture.hpp"

// Which writes a protected table refuses, and which it does not.
namespace leasehold::conformance {
namespace {

TEST_P(Protection, LetsRowsThatNobodyHasLeasedBeWritten) {
    protect();
    (void)lease("2");
    EXPECT_TRUE(written(app(), write_1_));
    EXPECT_TRUE(written(app(), "insert into orders values (4, 'new')"));
    EXPECT_TRUE(written(app(), "delete from orders where id = 3"));
    EXPECT_EQ(text_of("1"), "new");
}

TEST_P(Protection, RefusesEveryWriteToALeasedRowAndNamesTheHolder) {
    protect();
    const Lease alice = lease("1");
    (void)lease("4");
    EXPECT_TRUE(refused(app(), write_1_, held_by_alice_));
    EXPECT_TRUE(refused(app(), "delete from orders where id = 1", held_by_alice_));
    EXPECT_TRUE(refused(app(), "insert into orders values (4, 'new')", "Order/4 is held by alice"));
    EXPECT_FALSE(failure_of(app(), write_1_).contains(alice.lock_id.to_string()));
    EXPECT_EQ(text_of("1"), "old");
    EXPECT_EQ(text_of("4"), "");
    EXPECT_TRUE(granted(locks().release(alice.lock_id)));
    EXPECT_TRUE(written(app(), write_1_));
}

TEST_P(Protection, ARefusalLeavesTheTransactionUsable) {
    protect();
    (void)lease("1");
    const auto other = session();
    other->begin();
    EXPECT_TRUE(written(*other, "update orders set text = 'kept' where id = 2"));
    other->run("savepoint here");  // PostgreSQL needs one before any statement that may fail
    EXPECT_TRUE(refused(*other, write_1_, held_by_alice_));
    other->run("rollback to savepoint here");
    EXPECT_TRUE(written(*other, "update orders set text = 'kept' where id = 3"));
    other->commit();
    EXPECT_EQ(text_of("2") + text_of("3"), "keptkept");
    EXPECT_EQ(text_of("1"), "old");
}

TEST_P(Protection, ASharedLeaseLetsNobodyWrite) {
    protect();
    const Lease alice = must(locks().try_lock(key_, {.owner = "alice", .mode = Mode::shared}));
    EXPECT_TRUE(refused(app(), write_1_, "Order/1 is shared by alice until "));
    const Lease bob = must(locks().try_lock(key_, {.owner = "bob", .mode = Mode::shared}));
    EXPECT_TRUE(refused(app(), write_1_, "Order/1 is shared by alice and 1 more until "));
    const auto other = session();
    other->begin();
    ASSERT_TRUE(granted(other->guard(key_, alice.lock_id)));
    EXPECT_TRUE(refused(*other, write_1_, "Order/1 is shared by alice"));
    other->rollback();
    (void)must(locks().release(alice.lock_id));
    EXPECT_TRUE(refused(app(), write_1_, "Order/1 is shared by bob until "));
    (void)must(locks().release(bob.lock_id));
    EXPECT_TRUE(written(app(), write_1_));
}

TEST_P(Protection, AChangeOfTheKeyNeedsBothKeys) {
    protect();
    const std::string move = "update orders set id = 9 where id = 1";
    const Lease from = lease("1");
    EXPECT_TRUE(refused(app(), move, held_by_alice_));
    const Lease to = lease("9", "bob");
    const auto other = session();
    other->begin();
    ASSERT_TRUE(granted(other->guard(key_, from.lock_id)));
    other->run("savepoint here");
    EXPECT_TRUE(refused(*other, move, "Order/9 is held by bob"));
    other->run("rollback to savepoint here");
    ASSERT_TRUE(granted(other->guard({"Order", "9"}, to.lock_id)));
    EXPECT_TRUE(written(*other, move));
    other->commit();
    EXPECT_EQ(text_of("9"), "old");
    (void)must(locks().release(from.lock_id));
    EXPECT_TRUE(refused(app(), "update orders set id = 1 where id = 9", "Order/9 is held by bob"));
}

TEST_P(Protection, AStatementOverManyRowsIsJudgedRowByRow) {
    protect();
    const Lease alice = lease("2");
    const std::string all = "update orders set text = 'all'";
    EXPECT_TRUE(refused(app(), all, "Order/2 is held by alice"));
    EXPECT_EQ(text_of("1") + text_of("2") + text_of("3"), "oldoldold");
    EXPECT_TRUE(refused(app(), "delete from orders", "Order/2 is held by alice"));
    (void)lease("9", "bob");
    EXPECT_TRUE(refused(app(), "insert into orders values (7, 'a'), (8, 'b'), (9, 'c')",
                        "Order/9 is held by bob"));
    EXPECT_EQ(text_of("7"), "");
    EXPECT_TRUE(written(app(), "update orders set text = 'two' where id <> 2"));
    const auto other = session();
    other->begin();
    ASSERT_TRUE(granted(other->guard({"Order", "2"}, alice.lock_id)));
    EXPECT_TRUE(written(*other, all));
    other->commit();
    EXPECT_EQ(text_of("1") + text_of("2") + text_of("3"), "allallall");
}

TEST_P(Protection, AChildTableIsWrittenUnderTheLeaseOfItsRoot) {
    app().run(
        "create table order_lines (order_id integer not null, id integer not null primary key, "
        "text "
        "varchar(40))");
    app().run("insert into order_lines values (1, 10, 'old'), (2, 20, 'old')");
    protect();
    protect("order_lines", "Order/{order_id}");
    const Lease alice = lease("1");
    EXPECT_TRUE(refused(app(), "update order_lines set text = 'x' where id = 10", held_by_alice_));
    EXPECT_TRUE(refused(app(), "insert into order_lines values (1, 11, 'x')", held_by_alice_));
    EXPECT_TRUE(
        refused(app(), "update order_lines set order_id = 1 where id = 20", held_by_alice_));
    EXPECT_TRUE(written(app(), "update order_lines set text = 'new' where id = 20"));
    const auto other = session();
    other->begin();
    ASSERT_TRUE(granted(other->guard(key_, alice.lock_id)));
    EXPECT_TRUE(written(*other, "insert into order_lines values (1, 11, 'new')"));
    EXPECT_TRUE(written(*other, write_1_));
    other->commit();
    EXPECT_EQ(text_of("11", "order_lines"), "new");
}

TEST_P(Protection, WithRequireEveryWriteNeedsALease) {
    protect("orders", "Order/{id}", Unleased::refused);
    EXPECT_TRUE(refused(app(), write_1_, "a write to Order/1 needs a lease"));
    EXPECT_TRUE(refused(app(), "insert into orders values (4, 'x')", "Order/4 needs a lease"));
    EXPECT_TRUE(refused(app(), "delete from orders where id = 1", "Order/1 needs a lease"));
    const Lease alice = lease("1");
    EXPECT_TRUE(refused(app(), write_1_, held_by_alice_));
    const auto other = session();
    other->begin();
    ASSERT_TRUE(granted(other->guard(key_, alice.lock_id)));
    EXPECT_TRUE(written(*other, write_1_));
    other->run("savepoint here");
    EXPECT_TRUE(refused(*other, "update orders set id = 5 where id = 1", "Order/5 needs a lease"));
    other->run("rollback to savepoint here");
    other->commit();
    (void)must(locks().release(alice.lock_id));
    EXPECT_TRUE(refused(app(), write_1_, "a write to Order/1 needs a lease"));
}

TEST_P(Protection, ARowWithANullInItsKeyHasNoKey) {
    app().run("create table notes (id integer, text varchar(40))");
    protect("notes", "Note/{id}");
    EXPECT_TRUE(written(app(), "insert into notes values (null, 'old')"));
    EXPECT_TRUE(written(app(), "update notes set text = 'new' where id is null"));
    protect("notes", "Note/{id}", Unleased::refused);
    EXPECT_TRUE(refused(app(), "update notes set text = 'x'", "a column of its key is null"));
}

LEASEHOLD_ON_EVERY_SQL_STORE(Protection);

}  // namespace
}  // namespace leasehold::conformance
