#include <atomic>
#include <string>
#include <thread>

#include "conformance/protection_fixture.hpp"

// Protecting a table, changing the rule, and finding what was changed by hand.
namespace leasehold::conformance {
namespace {

TEST_P(Protection, TablesAndColumnsMayHaveAnyName) {
    const std::string table = "Ta\"ble 'of` \\ ünïcode; drop table x --";
    const std::string column = "sel\"ect'{/ \\ 値";
    const std::string number = "i`d";
    app().run("create table " + harness().quoted(table) + " (" + harness().quoted(column) +
              " varchar(40) not null primary key, " + harness().quoted(number) +
              " integer, text varchar(40))");
    app().run("insert into " + harness().quoted(table) + " values ('it''s/1', 1, 'old')");
    const std::string key = "O'r\"d`er\\:{" + column + "}/x{" + number + "}/{" + column + "}";
    protect(table, key);
    EXPECT_EQ(harness().protection()->tables(),
              (std::vector<ProtectedTable>{{.name = table, .key = key}}));
    EXPECT_TRUE(harness().protection()->problems().empty());
    const LockKey leased{"O'r\"d`er\\:it's/1", "x1/it's/1"};
    const Lease alice = must(locks().try_lock(leased, {.owner = "alice", .ttl = 1h}));
    const std::string write = "update " + harness().quoted(table) + " set text = 'new'";
    EXPECT_TRUE(refused(app(), write, " is held by alice until "));
    const auto other = session();
    other->begin();
    ASSERT_TRUE(granted(other->guard(leased, alice.lock_id)));
    EXPECT_TRUE(written(*other, write));
    other->commit();
    EXPECT_TRUE(harness().protection()->unprotect(table));
    EXPECT_TRUE(written(app(), write));
}

TEST_P(Protection, RefusesWhatItCannotProtect) {
    const auto why = [&](const std::string& table, const std::string& key) {
        try {
            protect(table, key);
        } catch (const BadRequest& bad) {
            return std::string{bad.what()};
        }
        return std::string{"it was protected"};
    };
    const auto says = [&](const std::string& table, const std::string& key,
                          const std::string& words) -> ::testing::AssertionResult {
        const std::string said = why(table, key);
        if (said.contains(words)) return ::testing::AssertionSuccess();
        return ::testing::AssertionFailure() << said;
    };
    EXPECT_TRUE(says("orders", "Order", "has no '/' outside braces"));
    EXPECT_TRUE(says("orders", "Order/", "makes no valid key"));
    EXPECT_TRUE(says("orders", "/{id}", "makes no valid key"));
    EXPECT_TRUE(says("orders", "Order/{id", "has a '{' without '}'"));
    EXPECT_TRUE(says("orders", "Order/id}", "has a '}' without '{'"));
    EXPECT_TRUE(says("orders", "Order/{}", "has braces without a column"));
    EXPECT_TRUE(says("orders", "Order/{nr}", "has no column 'nr'; it has id, text"));
    EXPECT_TRUE(says("nowhere", "Order/{id}", "there is no table 'nowhere'"));
    EXPECT_TRUE(says("locks", "Order/{id}", "Leasehold's own table"));
    app().run("create view order_view as select * from orders");
    EXPECT_TRUE(says("order_view", "Order/{id}", "is not a table"));
    EXPECT_TRUE(harness().protection()->tables().empty());
    EXPECT_TRUE(written(app(), write_1_));
}

TEST_P(Protection, ARowWhoseKeyIsTooLongToLeaseIsFreeToWrite) {
    app().run("create table names (id integer not null primary key, name varchar(9000))");
    protect("names", "Name/{name}");
    std::string name;  // too long for an index, even if it is compressed
    for (std::uint32_t number = 1; name.size() < 8000;) {
        name += std::to_string(number = number * 1664525 + 1013904223);
    }
    const std::string insert = ", '" + name + "')";
    EXPECT_TRUE(written(app(), "insert into names values (1" + insert));
    app().repeat_reads();
    app().begin();
    EXPECT_TRUE(written(app(), "insert into names values (2" + insert));
    EXPECT_TRUE(written(app(), "update names set name = 'short' where id = 1"));
    app().commit();
    protect("names", "Name/{name}", Unleased::refused);
    EXPECT_TRUE(refused(app(), "insert into names values (3" + insert, "needs a lease"));
}

TEST_P(Protection, ProtectingAgainChangesTheRule) {
    protect("orders", "Wrong/{text}");
    protect("orders", "Order/{id}");
    protect("orders", "Order/{id}");
    EXPECT_EQ(harness().protection()->tables(),
              (std::vector<ProtectedTable>{{.name = "orders", .key = "Order/{id}"}}));
    (void)must(locks().try_lock({"Wrong", "old"}, {.owner = "bob"}));
    EXPECT_TRUE(written(app(), write_1_));
    const Lease alice = lease("1");
    EXPECT_TRUE(refused(app(), write_1_, held_by_alice_));
    protect("orders", "Order/{id}", Unleased::refused);
    EXPECT_TRUE(
        refused(app(), "update orders set text = 'x' where id = 2", "Order/2 needs a lease"));
    EXPECT_TRUE(harness().protection()->unprotect("orders"));
    EXPECT_FALSE(harness().protection()->unprotect("orders"));
    EXPECT_FALSE(harness().protection()->unprotect("nowhere"));
    EXPECT_TRUE(harness().protection()->tables().empty());
    EXPECT_TRUE(written(app(), write_1_));
    protect();
    EXPECT_TRUE(refused(app(), write_1_, held_by_alice_));
}

// A rule that changes, and other tables that become protected, while somebody writes all the time.
TEST_P(Protection, ProtectingAgainDisturbsNoWriterAndLetsNoneThrough) {
    protect();
    (void)lease("1");
    std::atomic<bool> done = false;
    int writes = 0;
    std::string wrong;
    std::thread writer{[&] {
        const auto shell = harness().connect();
        while (!done || writes == 0) {
            const std::string free =
                failure_of(*shell, "update orders set text = 'x' where id = 2");
            const std::string leased = failure_of(*shell, write_1_);
            if (!free.empty() && !free.contains("Order/2 needs a lease")) wrong = free;
            if (!leased.contains("is held by alice")) wrong = "order 1: " + leased;
            ++writes;
        }
    }};
    for (int round = 0; round < 5; ++round) {
        protect("app_records", "Record/{record}");
        protect("orders", "Order/{id}", Unleased::refused);
        protect("orders", "Order/{id}");
    }
    done = true;
    writer.join();
    EXPECT_EQ(wrong, "");
    EXPECT_TRUE(harness().protection()->problems().empty());
}

TEST_P(Protection, FindsWhatWasChangedByHand) {
    protect();
    protect("app_records", "Record/{record}");
    EXPECT_TRUE(harness().protection()->problems().empty());
    const auto only_problem = [&]() -> std::string {
        const auto problems = harness().protection()->problems();
        if (problems.size() != 1) return std::to_string(problems.size()) + " problems";
        EXPECT_FALSE(problems.front().advice.empty());
        return problems.front().table + ": " + problems.front().text;
    };
    harness().drop_a_trigger("orders");
    EXPECT_TRUE(only_problem().starts_with("orders: the trigger leasehold_")) << only_problem();
    protect();
    EXPECT_TRUE(harness().protection()->problems().empty());
    app().run("drop table orders");
    EXPECT_EQ(only_problem(), "orders: the table is not there: it was dropped or renamed");
    EXPECT_TRUE(harness().protection()->unprotect("orders"));
    EXPECT_TRUE(harness().protection()->problems().empty());
}

}  // namespace
}  // namespace leasehold::conformance
