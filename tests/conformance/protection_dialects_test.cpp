#include <sqlite3.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <thread>

#include "conformance/conformance.hpp"

// What docs/protect.md says about one database alone: rights, ways of writing that are special to
// it, and attempts to deceive its triggers.
namespace leasehold::conformance {
namespace {

class DialectProtection : public SqlConformanceTest {
protected:
    void SetUp() override {
        (void)locks();
        app_ = harness().connect();
        run("create table orders (id integer not null primary key, text varchar(40))");
        run("insert into orders values (1, 'old'), (2, 'old'), (3, 'old')");
        protect("orders", "Order/{id}");
    }

    void protect(const std::string& table, const std::string& key) {
        (void)harness().protection()->protect({.name = table, .key = key});
    }
    [[nodiscard]] Lease lease(const std::string& id) {
        return must(locks().try_lock({"Order", id}, {.owner = "alice", .ttl = 1h}));
    }

    CallerTransaction::Rows run(const std::string& sql) { return app_->run(sql); }
    // Whether the database refuses it in our words.
    [[nodiscard]] bool refuses(const std::string& sql,
                               const std::string& words = "is held by alice") {
        try {
            run(sql);
        } catch (const std::runtime_error& error) {
            const bool ours = std::string{error.what()}.find("leasehold: ") != std::string::npos &&
                              std::string{error.what()}.find(words) != std::string::npos;
            EXPECT_TRUE(ours) << error.what();
            return ours;
        }
        return false;
    }

    // Runs the statements of docs/protect.md that present a lease in this dialect.
    void save_as_documented(const std::string& dialect, const std::string& parameter) {
        run("alter table orders add column address varchar(40)");
        const Lease alice = lease("1");
        std::ifstream in{std::filesystem::path{__FILE__}.parent_path() / "../../docs/protect.md"};
        std::stringstream page;
        page << in.rdbuf();
        std::string block = page.str();
        block.erase(0, block.find("-- " + dialect));
        block.erase(std::min(block.find("\n\n"), block.find("\n```")));
        block.erase(0, block.find('\n') + 1);
        block.replace(block.find(parameter), parameter.size(),
                      "'" + alice.lock_id.to_string() + "'");
        std::istringstream statements{block};
        for (std::string sql; std::getline(statements, sql, ';');) run(sql);
        EXPECT_EQ(run("select address from orders where id = 1").front().front(), "12 Elm Street");
        EXPECT_TRUE(refuses("update orders set address = 'x' where id = 1"));
    }

    const LockKey key_{"Order", "1"};
    std::unique_ptr<CallerTransaction> app_;
};

class PostgresProtection : public DialectProtection {};

TEST_P(PostgresProtection, NeedsNoRightOnTheLocksFromARoleThatWrites) {
    const Lease alice = lease("1");
    run("drop role if exists clerk");
    run("create role clerk");
    run("grant usage on schema public to clerk");
    run("grant select, insert, update, delete on orders to clerk");
    run("set role clerk");
    EXPECT_THROW(run("select * from locks"), std::runtime_error);
    EXPECT_TRUE(refuses("update orders set text = 'x' where id = 1"));
    run("update orders set text = 'new' where id = 2");
    run("begin");
    EXPECT_EQ(app_->guard_in_sql(key_, alice.lock_id.to_string()), alice.fence);
    run("update orders set text = 'new' where id = 1");
    run("commit");
    EXPECT_THROW(run("select leasehold_admit('Order', '1', false)"), std::runtime_error);
    EXPECT_THROW(run("select leasehold_holder('Order', '1')"), std::runtime_error);
    EXPECT_THROW(run("alter table orders disable trigger leasehold_protect_update"),
                 std::runtime_error);
    EXPECT_THROW(run("set session_replication_role = replica"), std::runtime_error);
    run("reset role");
    run("drop owned by clerk");
    run("drop role clerk");
}

TEST_P(PostgresProtection, TakesTheStatementsOfTheDocumentation) {
    save_as_documented("PostgreSQL", "$1");
}

// The triggers go with the table.
TEST_P(PostgresProtection, ANewTableWithTheNameOfARenamedOneDisturbsItNot) {
    (void)lease("1");
    run("alter table orders rename to old_orders");
    run("create table orders (number integer not null primary key)");
    protect("orders", "Order/{number}");
    EXPECT_TRUE(refuses("insert into orders values (1)"));
    run("insert into orders values (2)");
    EXPECT_TRUE(refuses("update old_orders set text = 'x' where id = 1"));
    run("update old_orders set text = 'new' where id = 2");
    EXPECT_TRUE(harness().protection()->problems().empty());
    EXPECT_TRUE(harness().protection()->unprotect("orders"));
    run("insert into orders values (1)");
    EXPECT_TRUE(refuses("update old_orders set text = 'x' where id = 1"));
    protect("old_orders", "Order/{id}");
    EXPECT_TRUE(refuses("update old_orders set text = 'x' where id = 1"));
    EXPECT_TRUE(harness().protection()->unprotect("old_orders"));
    run("update old_orders set text = 'x' where id = 1");
}

TEST_P(PostgresProtection, IsNotDeceivedByNamesOrSettingsOfTheSession) {
    const Lease alice = lease("1");
    run("create schema evil");
    run("create table evil.locks (like locks)");
    run("create function evil.never(text, text) returns boolean language sql as 'select false'");
    run("create operator evil.= (leftarg = text, rightarg = text, function = evil.never)");
    run("create function evil.leasehold_admit(text, text, boolean) returns void language sql as "
        "''");
    run("set search_path = evil, public, pg_catalog");
    EXPECT_TRUE(refuses("update public.orders set text = 'x'"));
    run("reset search_path");
    run("drop schema evil cascade");

    // A setting that outlives the transaction it names presents nothing in the next one.
    run("begin");
    (void)app_->guard_in_sql(key_, alice.lock_id.to_string());
    const std::string presented = run("show leasehold.presented").front().front();
    EXPECT_EQ(presented.find(alice.lock_id.to_string()), std::string::npos);
    run("commit");
    EXPECT_EQ(run("show leasehold.presented").front().front(), "");
    run("set leasehold.presented = '" + presented + "'");
    EXPECT_TRUE(refuses("update orders set text = 'x' where id = 1"));
    run("reset leasehold.presented");
}

// A role that may create functions in the store's schema must not get the store's rights by one
// that fits a call better than PostgreSQL's own.
TEST_P(PostgresProtection, IsNotDeceivedByFunctionsAndOperatorsInItsOwnSchema) {
    const auto hijack = [&](const std::string& function, const std::string& result) {
        run("create function public." + function + " returns " + result +
            " language plpgsql as 'begin raise exception ''with the rights of %'', current_user; "
            "end'");
    };
    hijack("pg_sleep(numeric)", "void");
    hijack("joined(text, integer)", "text");
    run("create operator public.|| (leftarg = text, rightarg = integer, function = "
        "public.joined)");
    hijack("same(locks, locks)", "boolean");
    run("create operator public.= (leftarg = locks, rightarg = locks, function = public.same)");
    const LockKey shared{"Order", "2"};
    for (const char* owner : {"alice", "bob", "carol"}) {
        (void)must(locks().try_lock(shared, {.owner = owner, .mode = Mode::shared, .ttl = 1h}));
    }
    EXPECT_TRUE(refuses("update orders set text = 'x' where id = 2", "alice and 2 more"));

    const Lease alice = lease("1");
    const auto other = harness().connect();
    other->begin();
    ASSERT_TRUE(granted(other->guard(key_, alice.lock_id)));
    run("begin");
    EXPECT_TRUE(refuses("select leasehold_guard('Order', '1', '" + alice.lock_id.to_string() + "')",
                        "another transaction is using the lock"));
    run("rollback");
    other->commit();
    (void)must(locks().release(key_, alice.lock_id));
    run("update orders set text = 'x' where id = 1");
}

// The owner of a table, or of an enum, must not get the store's rights by code that a trigger runs.
TEST_P(PostgresProtection, RunsNoCodeOfTheTablesOwner) {
    const std::string body =
        " language plpgsql as 'begin raise exception ''with the rights of %'', current_user; end'";
    run("create type colour as enum ('red', 'blue')");
    run("create function evil_text(colour) returns text" + body);
    run("create cast (colour as text) with function evil_text(colour)");
    run("create domain paint as colour");
    run("create table paints (c colour, p paint)");
    protect("paints", "Paint/{c}:{p}");
    run("insert into paints values ('red', 'blue'), ('red', null)");
    (void)must(locks().try_lock({"Paint", "red:blue"}, {.owner = "alice"}));
    EXPECT_TRUE(refuses("update paints set p = 'red'"));
    EXPECT_TRUE(refuses("truncate paints"));
    run("update paints set c = 'blue' where p is null");

    // A view that has the name which the table had.
    run("create function evil() returns integer" + body);
    run("alter table orders rename to old_orders");
    run("create view orders as select evil() as id, ''::text as text");
    run("truncate old_orders");
    run("drop view orders");
    run("alter table old_orders rename to orders");

    // Policies are not for superusers, so the function belongs to another role here.
    run("drop role if exists keeper");
    run("create role keeper");
    run("grant all on schema public to keeper");
    run("grant select on orders to keeper");
    run("grant execute on function leasehold_admit to keeper");
    const std::string function = run("select proname from pg_proc where oid = (select tgfoid from "
                                     "pg_trigger where tgname = 'leasehold_protect_truncate' and "
                                     "tgrelid = 'orders'::regclass)")
                                     .front()
                                     .front();
    run("alter function " + function + " owner to keeper");
    run("insert into orders values (1, 'old')");
    run("truncate orders");
    run("insert into orders values (1, 'old')");
    run("alter table orders enable row level security");
    run("create policy spying on orders using (evil() = 1)");
    try {
        run("truncate orders");
        ADD_FAILURE() << "it was written without a look at its rows";
    } catch (const std::runtime_error& error) {
        EXPECT_EQ(std::string{error.what()}.find("with the rights of"), std::string::npos)
            << error.what();
    }
    run("drop owned by keeper cascade");
    run("drop role keeper");
}

TEST_P(PostgresProtection, DoesNotMakeWritersWaitBehindIt) {
    const auto writer = harness().connect();
    writer->begin();
    writer->run("update orders set text = 'new' where id = 2");
    try {
        protect("orders", "Order/{text}");
        ADD_FAILURE() << "it was protected";
    } catch (const StoreFault& fault) {
        EXPECT_TRUE(std::string{fault.what()}.contains("another transaction is using the table"))
            << fault.what();
    }
    writer->commit();
    protect("orders", "Order/{text}");
}

TEST_P(PostgresProtection, FindsFunctionsAndTriggersThatWereChanged) {
    const auto only_problem = [&] {
        const auto problems = harness().protection()->problems();
        return problems.size() == 1 ? problems.front().text : std::to_string(problems.size());
    };
    run("create or replace function leasehold_admit(key_type text, key_id text, required boolean) "
        "returns void language plpgsql security definer set search_path = pg_catalog, pg_temp as "
        "'begin end'");
    EXPECT_TRUE(only_problem().starts_with("the function leasehold_admit(")) << only_problem();
    protect("orders", "Order/{id}");
    run("alter function leasehold_guard security invoker");
    EXPECT_TRUE(only_problem().starts_with("the function leasehold_guard(")) << only_problem();
    protect("orders", "Order/{id}");
    const std::string function = run("select tgfoid::regproc from pg_trigger where tgname = "
                                     "'leasehold_protect_update' and tgrelid = 'orders'::regclass")
                                     .front()
                                     .front();
    run("create or replace trigger leasehold_protect_update after update on orders for each row "
        "when (false) execute function " +
        function + "()");
    EXPECT_EQ(only_problem(), "the trigger leasehold_protect_update was changed");
    protect("orders", "Order/{id}");
    EXPECT_TRUE(harness().protection()->problems().empty());
}

TEST_P(PostgresProtection, TakesTheTextOfANameForNothingElse) {
    const std::string table = "o$function$; drop table orders; --";
    run("create table \"" + table + "\" (id integer primary key)");
    protect(table, "A$function$/{id}");
    EXPECT_TRUE(harness().protection()->problems().empty());
    (void)must(locks().try_lock({"A$function$", "7"}, {.owner = "alice"}));
    EXPECT_TRUE(refuses("insert into \"" + table + "\" values (7)"));
    run("insert into \"" + table + "\" values (8)");
    EXPECT_EQ(run("select count(*) from orders"), (CallerTransaction::Rows{{"3"}}));
}

TEST_P(PostgresProtection, JudgesTruncateCopyCascadesAndPartitions) {
    const Lease alice = lease("1");
    EXPECT_TRUE(refuses("truncate orders"));
    (void)lease("4");
    EXPECT_TRUE(refuses("copy orders from program 'echo 5,x; echo 4,x' with (format csv)"));
    EXPECT_TRUE(run("select * from orders where id > 3").empty());
    run("copy orders from program 'echo 5,x' with (format csv)");
    EXPECT_TRUE(
        refuses("merge into orders o using (values (1)) v (id) on o.id = v.id when matched "
                "then update set text = 'x'"));
    EXPECT_TRUE(
        refuses("insert into orders values (1, 'x') on conflict (id) do update set text = 'x'"));

    run("create table order_lines (order_id integer not null references orders on delete cascade "
        "on "
        "update cascade, id integer primary key)");
    run("insert into order_lines values (1, 10), (2, 20)");
    protect("order_lines", "Order/{order_id}");
    (void)harness().protection()->unprotect("orders");
    EXPECT_TRUE(refuses("delete from orders where id = 1"));
    EXPECT_TRUE(refuses("update orders set id = 9 where id = 1"));
    run("delete from orders where id = 2");

    run("create table parted (id integer not null, text varchar(40)) partition by range (id)");
    run("create table parted_low partition of parted for values from (0) to (5)");
    run("create table parted_high partition of parted for values from (5) to (10)");
    run("insert into parted values (1, 'old'), (2, 'old')");
    protect("parted", "Order/{id}");
    EXPECT_TRUE(refuses("update parted set text = 'x' where id = 1"));
    EXPECT_TRUE(refuses("update parted_low set text = 'x' where id = 1"));
    EXPECT_TRUE(refuses("update parted set id = 7 where id = 1"));
    run("update parted set id = 7 where id = 2");
    EXPECT_THROW(protect("parted_low", "Order/{id}"), BadRequest);
    (void)must(locks().release(alice.lock_id));
    run("truncate orders cascade");
}

TEST_P(PostgresProtection, JudgesPartitionsThatAreNewOrAttachedAndNotThoseThatAreDetached) {
    run("create table parted (id integer not null, text varchar(40)) partition by range (id)");
    protect("parted", "Order/{id}");
    for (const std::string id : {"1", "11"}) (void)lease(id);
    run("create table fresh partition of parted for values from (0) to (10)");
    run("create table attached (id integer not null, text varchar(40))");
    run("insert into attached values (11, 'old')");
    run("alter table parted attach partition attached for values from (10) to (20)");
    for (const std::string table : {"parted", "fresh"}) {
        EXPECT_TRUE(refuses("insert into " + table + " values (1, 'x')")) << table;
    }
    for (const std::string table : {"parted", "attached"}) {
        EXPECT_TRUE(refuses("update " + table + " set text = 'x' where id = 11")) << table;
    }
    EXPECT_TRUE(harness().protection()->problems().empty());
    run("alter table parted detach partition attached");
    run("update attached set text = 'x' where id = 11");
    protect("attached", "Order/{id}");
    EXPECT_TRUE(refuses("update attached set text = 'y' where id = 11"));
}

TEST_P(PostgresProtection, WarnsOfTablesThatInherit) {
    const auto warnings = [&] { return harness().protection()->warnings().size(); };
    EXPECT_EQ(warnings(), 0U);
    run("create table special_orders () inherits (orders)");
    EXPECT_EQ(warnings(), 1U);
    EXPECT_EQ(harness().protection()->protect({.name = "orders", .key = "Order/{id}"}).size(), 1U);
    protect("special_orders", "Order/{id}");
    EXPECT_EQ(warnings(), 0U);
}

TEST_P(PostgresProtection, SearchesTheLocksAtMostTwiceForAWrite) {
    run("create table plain (id integer not null primary key, text varchar(40))");
    run("insert into plain values (1, 'old'), (2, 'old'), (3, 'old')");
    // Of this session alone, with what its triggers do. Table `leasehold` has one row and no index.
    const auto searches = [&] {
        return std::stoi(run("select sum(coalesce(idx_scan, 0) + seq_scan) from "
                             "pg_stat_xact_user_tables where relname <> 'leasehold'")
                             .at(0)
                             .at(0));
    };
    const auto cost_of = [&](const std::string& write) {
        const int before = searches();
        run(write);
        return searches() - before;
    };
    const auto expect_at_most = [&](int searches_more, const std::string& when) {
        for (const std::string write :
             {"insert into {} values (9, 'x')", "update {} set text = 'x' where id = 9",
              "delete from {} where id = 9"}) {
            const auto on = [&](const std::string& table) {
                std::string sql = write;
                return sql.replace(sql.find("{}"), 2, table);
            };
            EXPECT_LE(cost_of(on("orders")) - cost_of(on("plain")), searches_more)
                << write << ", " << when;
        }
    };
    run("begin");
    expect_at_most(2, "never leased");
    run("commit");
    const Lease before = lease("9");
    (void)must(locks().release({"Order", "9"}, before.lock_id));
    run("begin");
    expect_at_most(2, "leased before");
    run("commit");
    const Lease alice = lease("9");
    run("begin");
    (void)app_->guard_in_sql({"Order", "9"}, alice.lock_id.to_string());
    expect_at_most(2, "presented");
    run("commit");
}

// Under SERIALIZABLE, PostgreSQL ends a transaction if two of them have read where the other one
// has inserted.
TEST_P(PostgresProtection, SerializableWritersOfRowsThatNobodyHasLeasedDoNotDisturbEachOther) {
    run("insert into orders select i, 'old' from generate_series(4, 3000) i");
    run("analyze orders, locks");
    const auto other = harness().connect();
    const std::string begin = "begin isolation level serializable";
    run(begin);
    other->run(begin);
    run("update orders set text = 'new' where id = 1000");
    other->run("update orders set text = 'new' where id = 2000");
    run("update orders set text = 'new' where id = 1001");
    other->run("update orders set text = 'new' where id = 2001");
    run("commit");
    other->run("commit");
    (void)must(locks().release({"Order", "2"}, lease("2").lock_id));
    for (const std::string id : {"1", "2"}) {
        run(begin);
        run("select * from orders where id = 3");
        (void)lease(id);
        EXPECT_THROW(run("update orders set text = 'late' where id = " + id), std::runtime_error)
            << id;
        run("rollback");
        run(begin);
        EXPECT_TRUE(refuses("update orders set text = 'x' where id = " + id));
        run("rollback");
    }
}

TEST_P(PostgresProtection, RefusesColumnsWhoseTextDependsOnTheSession) {
    run("create domain order_no as varchar(20)");
    run("create type colour as enum ('red', 'blue')");
    run("create table many (a timestamptz, b float8, c order_no, d colour, e uuid, f date, g "
        "bytea)");
    for (const char* column : {"a", "b", "f", "g"}) {
        EXPECT_THROW(protect("many", std::string{"X/{"} + column + "}"), BadRequest) << column;
    }
    for (const char* column : {"c", "d", "e"}) protect("many", std::string{"X/{"} + column + "}");
    run("create schema other");
    run("create table other.orders (id integer primary key)");
    protect("other.orders", "Order/{id}");
    EXPECT_EQ(harness().protection()->tables(),
              (std::vector<ProtectedTable>{{.name = "many", .key = "X/{e}"},
                                           {.name = "orders", .key = "Order/{id}"},
                                           {.name = "other.orders", .key = "Order/{id}"}}));
    (void)lease("1");
    EXPECT_TRUE(refuses("insert into other.orders values (1)"));
    EXPECT_TRUE(harness().protection()->unprotect("other.orders"));
    run("insert into other.orders values (1)");
}

LEASEHOLD_ON(only_postgres(), PostgresProtection);

class InnodbProtection : public DialectProtection {
protected:
    // A write of order 3 in a transaction that has read before the key was leased.
    [[nodiscard]] bool refuses_after_a_late_lease(const std::vector<std::string>& beginning) {
        for (const std::string& statement : beginning) run(statement);
        run("select count(*) from orders");
        const Lease late = lease("3");
        const bool refused = refuses("update orders set text = 'x' where id = 3");
        run("rollback");
        (void)must(locks().release({"Order", "3"}, late.lock_id));
        harness().connect()->run("delete from locks where type = 'Order' and id = '3'");
        return refused;
    }
};

// The check option of a view runs a function of its user between the triggers of a row.
TEST_P(InnodbProtection, JudgesAnInsertWhateverAViewsFunctionSets) {
    run("create table counted (id integer auto_increment primary key, text varchar(40))");
    protect("counted", "Counted/{id}");
    run("create function sets_variables(id integer) returns integer deterministic begin "
        "set @leasehold_judged = '7:Counted1'; return 1; end");
    run("create view seen as select * from counted where sets_variables(id) = 1 "
        "with check option");
    const Lease held = must(locks().try_lock({"Counted", "1"}, {.owner = "alice"}));
    EXPECT_TRUE(refuses("insert into seen (text) values ('x')"));
    (void)must(locks().release({"Counted", "1"}, held.lock_id));
}

TEST_P(InnodbProtection, NobodyPresentsTheRowThatProvesTheTable) {
    (void)lease("1");
    run("start transaction");
    EXPECT_THROW(run("select leasehold_guard(x'00', x'00', '!')"), std::runtime_error);
    run("rollback");
    EXPECT_TRUE(refuses("update orders set text = 'x' where id = 1"));
}

TEST_P(InnodbProtection, IsNotDeceivedBySettingsOfTheSession) {
    (void)lease("1");
    for (const char* setting :
         {"set timestamp = 2000000000", "set time_zone = '-12:00'", "set sql_mode = ''",
          "set sql_mode = 'ANSI,PAD_CHAR_TO_FULL_LENGTH'", "set autocommit = 0",
          "set session transaction isolation level read uncommitted",
          "set session transaction isolation level serializable", "set foreign_key_checks = 0",
          "set unique_checks = 0", "set sql_select_limit = 0", "set sql_safe_updates = 1",
          "set max_error_count = 0"}) {
        app_ = harness().connect();
        run(setting);
        EXPECT_TRUE(refuses("update orders set text = 'x' where id = 1")) << setting;
        run("rollback");
        EXPECT_TRUE(refuses_after_a_late_lease({"start transaction"})) << setting;
    }
}

// Levels that the session's own setting does not tell.
TEST_P(InnodbProtection, IsNotDeceivedByTheLevelOfOneTransaction) {
    run("set session transaction isolation level read committed");
    EXPECT_TRUE(refuses_after_a_late_lease(
        {"set transaction isolation level repeatable read", "start transaction"}));
    for (const std::string lower : {"read committed", "read uncommitted"}) {
        run("set session transaction isolation level repeatable read");
        EXPECT_TRUE(
            refuses_after_a_late_lease({"start transaction", "select * from orders",
                                        "set session transaction isolation level " + lower}))
            << lower;
    }
}

// In a function or a trigger, the server does not undo a statement that failed if a handler goes on
// after it.
TEST_P(InnodbProtection, AHandlerOfAnotherRoutineCannotKeepARefusedWrite) {
    (void)lease("1");
    (void)lease("9");
    const std::string handler = "declare continue handler for sqlexception begin end; ";
    const std::string before =
        run("select group_concat(id, text order by id) from orders").at(0).at(0);
    for (const std::string write :
         {"update orders set text = 'hacked' where id = 1", "delete from orders where id = 1",
          "update orders set id = 9 where id = 2", "replace into orders values (1, 'hacked')",
          "insert into orders values (1, 'x') on duplicate key update text = 'hacked'",
          "insert into orders values (9, 'hacked')"}) {
        run("create function evil() returns int deterministic modifies sql data begin " + handler +
            write + "; return 1; end");
        run("select evil()");
        run("drop function evil");
        run("create table bait (id int)");
        run("create trigger evil before insert on bait for each row begin " + handler + write +
            "; end");
        run("insert into bait values (1)");
        run("drop table bait");
        EXPECT_EQ(run("select group_concat(id, text order by id) from orders").at(0).at(0), before)
            << write;
    }
}

// Nobody can have leased a key that the server has not counted up yet.
TEST_P(InnodbProtection, AHandlerCannotKeepARowThatNeedsALease) {
    run("create table counted (id integer auto_increment primary key, text varchar(40))");
    run("insert into counted values (1, 'old')");
    (void)harness().protection()->protect(
        {.name = "counted", .key = "Counted/{id}", .unleased = ProtectedTable::Unleased::refused});
    for (const std::string write :
         {"insert into counted (text) values ('hacked')",
          "insert into counted values (null, 'hacked')", "insert into counted values (0, 'hacked')",
          "insert into counted values (5, 'hacked')", "replace into counted values (1, 'hacked')",
          "update counted set id = 5", "delete from counted"}) {
        EXPECT_TRUE(refuses(write, "needs a lease")) << write;
        run("create function evil() returns int deterministic modifies sql data begin declare "
            "continue handler for sqlexception begin end; " +
            write + "; return 1; end");
        run("select evil()");
        run("drop function evil");
        EXPECT_EQ(run("select * from counted"), (CallerTransaction::Rows{{"1", "old"}})) << write;
    }
    const LockKey next{"Counted", "7"};
    const Lease alice = must(locks().try_lock(next, {.owner = "alice"}));
    run("start transaction");
    (void)app_->guard_in_sql(next, alice.lock_id.to_string());
    run("insert into counted values (7, 'new')");
    run("commit");
    EXPECT_EQ(run("select max(id) from counted").front().front(), "7");
}

TEST_P(InnodbProtection, JudgesTheKeyThatARowFinallyGets) {
    run("create table notes (id integer not null auto_increment primary key, text varchar(40))");
    protect("notes", "Order/{id}");
    (void)lease("1");
    (void)lease("0");  // what an insert has before the server counts up
    EXPECT_TRUE(refuses("insert into notes (text) values ('gets 1')"));
    run("insert into notes (text) values ('gets 2'), ('gets 3')");
    run("create trigger swap before insert on notes for each row set new.id = 1");
    EXPECT_TRUE(refuses("insert into notes values (7, 'gets 1')"));
    run("create trigger swap_too before update on notes for each row set new.id = 1");
    EXPECT_TRUE(refuses("update notes set text = 'gets 1' where id = 2"));

    run("create table parts (n integer not null primary key, id integer generated always as (n + "
        "1) "
        "stored)");
    protect("parts", "Order/{id}");
    EXPECT_TRUE(refuses("insert into parts (n) values (0)"));
    run("insert into parts (n) values (4)");
    EXPECT_TRUE(refuses("update parts set n = 0"));
    EXPECT_TRUE(harness().protection()->problems().empty());
}

TEST_P(InnodbProtection, FindsThatATableWasExchangedForACopy) {
    (void)lease("1");
    run("create table new_orders like orders");
    run("insert into new_orders select * from orders");
    run("rename table orders to old_orders, new_orders to orders");
    EXPECT_EQ(harness().protection()->problems().size(), 5U);
    protect("orders", "Order/{id}");
    EXPECT_TRUE(harness().protection()->problems().empty());
    EXPECT_TRUE(refuses("update orders set text = 'x' where id = 1"));
    EXPECT_TRUE(harness().protection()->unprotect("orders"));
    run("update orders set text = 'x' where id = 1");
}

TEST_P(InnodbProtection, KnowsTheKeysOfNumbersWithZeroesAndRefusesPaddedBytes) {
    run("create table padded (a int(5) zerofill, b decimal(6,2) zerofill, c binary(8))");
    (void)lease("42");
    protect("padded", "Order/{a}");
    EXPECT_TRUE(refuses("insert into padded values (42, 1, '')"));
    (void)lease("1.50");
    protect("padded", "Order/{b}");
    EXPECT_TRUE(refuses("insert into padded values (42, 1.5, '')"));
    EXPECT_THROW(protect("padded", "Order/{c}"), BadRequest);
}

TEST_P(InnodbProtection, JudgesWritesUnderLockTables) {
    (void)lease("1");
    run("lock tables orders write");
    run("update orders set text = 'new' where id = 2");
    EXPECT_TRUE(refuses("update orders set text = 'x' where id = 1"));
    run("unlock tables");
}

TEST_P(InnodbProtection, TakesTheStatementsOfTheDocumentation) {
    save_as_documented("MySQL and MariaDB", "?");
}

TEST_P(InnodbProtection, PresentingEndsWithATransactionThatAnotherOneFollowsAtOnce) {
    const Lease alice = lease("1");
    const std::string write = "update orders set text = 'new' where id = 1";
    const auto present = [&] { (void)app_->guard_in_sql(key_, alice.lock_id.to_string()); };
    for (const std::string end : {"commit and chain", "rollback and chain"}) {
        run("start transaction");
        present();
        run(write);
        run(end);
        EXPECT_TRUE(refuses(write)) << end;
        run("rollback");
    }
    run("set completion_type = 'CHAIN'");
    run("start transaction");
    present();
    run("commit");
    EXPECT_TRUE(refuses(write));
    run("rollback and no chain");
    run("set completion_type = 'NO_CHAIN'");

    run("set autocommit = 0");
    for (const std::string end : {"commit", "rollback"}) {
        present();
        run(write);
        run(end);
        EXPECT_TRUE(refuses(write)) << end;
        run("rollback");
    }
    run("set autocommit = 1");

    run("xa start 'a'");
    present();
    run(write);
    run("xa end 'a'");
    run("xa prepare 'a'");
    run("xa commit 'a'");
    EXPECT_TRUE(refuses(write));
    run("xa start 'a'");
    EXPECT_TRUE(refuses(write));
    run("xa end 'a'");
    run("xa rollback 'a'");
}

// A refused write must not keep the holder from renewing, nor others from leasing other keys.
TEST_P(InnodbProtection, ARefusedWriteDisturbsNobody) {
    const Lease alice = lease("1");
    for (const std::string level : {"repeatable read", "read committed", "serializable"}) {
        run("set session transaction isolation level " + level);
        run("start transaction");
        run("select * from orders");
        const Lease late = lease("2");
        EXPECT_TRUE(refuses("update orders set text = 'x' where id = 1")) << level;
        EXPECT_TRUE(refuses("update orders set text = 'x' where id = 2")) << level;
        for (const std::string id : {"0", "10", "100", "11", "20", "3"}) {
            const auto neighbour = locks().try_lock({"Order", id}, {.owner = "bob"});
            EXPECT_TRUE(granted(neighbour)) << level << ", order " << id;
            if (neighbour) (void)locks().release({"Order", id}, neighbour->lock_id);
        }
        // Under SERIALIZABLE all that a transaction reads is locked.
        EXPECT_TRUE(level == "serializable" || granted(locks().renew(key_, alice.lock_id, 1h)))
            << level;
        run("rollback");
        (void)must(locks().release({"Order", "2"}, late.lock_id));
        run("delete from locks where type = 'Order' and id <> '1'");
    }
}

// A temporary table hides a table of the same name from triggers and routines, too.
TEST_P(InnodbProtection, IsNotDeceivedByTemporaryTables) {
    const Lease alice = lease("1");
    (void)must(locks().try_lock({"Order", "2"}, {.owner = "bob", .mode = Mode::shared, .ttl = 1h}));
    const auto holder = harness().connect();
    holder->begin();
    ASSERT_TRUE(granted(holder->guard(key_, alice.lock_id)));
    holder->commit();
    // What a user can know: not the rows.
    const std::vector<std::string> definitions{
        "leasehold (name varbinary(64) primary key, value bigint)",
        "locks (type varbinary(128), id varbinary(512), lockid varbinary(255), expiration_time "
        "datetime(6), owner varbinary(512) default '', mode tinyint default 0, fence bigint "
        "default 1, touched_at bigint default 0, note varbinary(1024) default '', ended tinyint "
        "default 0, ended_at bigint default 0, primary key (type, id), unique key locks_lockid "
        "(lockid))",
        "lock_shares (type varbinary(128), id varbinary(512), lockid varbinary(255), "
        "expiration_time bigint, owner varbinary(512), fence bigint)",
        "lock_presented (type varbinary(128), id varbinary(512), transaction varbinary(64), "
        "primary "
        "key (type, id))",
        "lock_transactions (connection bigint unsigned, proof varbinary(64) default '', started "
        "bigint unsigned default " +
            run("select transaction + 0 from lock_presented").front().front() + ")"};
    const auto write_nothing = [&](const std::string& when) {
        for (const std::string id : {"1", "2"}) {
            EXPECT_THROW(run("update orders set text = 'x' where id = " + id), std::runtime_error)
                << when << id;
        }
        run("start transaction");
        EXPECT_THROW(run("select leasehold_guard('Order', '1', 'forged')"), std::runtime_error);
        EXPECT_THROW(run("update orders set text = 'x' where id = 1"), std::runtime_error) << when;
        run("rollback");
    };
    for (const std::string& definition : definitions) {
        const std::string table = definition.substr(0, definition.find(' '));
        run("create temporary table " + definition);
        if (table == "leasehold") run("insert into leasehold values ('zone', 8000000000000000)");
        if (table == "locks") {
            run("insert into locks (type, id, lockid, expiration_time) values (x'00', x'00', '!', "
                "'9999-12-31 23:59:59.999999'), ('Order', '1', 'forged', '2100-01-01')");
        }
        for (const std::string level : {"repeatable read", "read committed"}) {
            run("set session transaction isolation level " + level);
            write_nothing(table + " at " + level + ", order ");
        }
        // A lease that a transaction does not see because it began before.
        run("set session transaction isolation level repeatable read");
        run("start transaction");
        run("select * from orders");
        const Lease late = lease("3");
        EXPECT_THROW(run("update orders set text = 'x' where id = 3"), std::runtime_error) << table;
        run("rollback");
        // What another session does meanwhile with what the server has prepared for this one.
        const auto other = harness().connect();
        EXPECT_THROW(other->run("update orders set text = 'x' where id = 1"), std::runtime_error);
        run("drop temporary table " + table);
        EXPECT_THROW(other->run("update orders set text = 'x' where id = 1"), std::runtime_error);
        (void)must(locks().release({"Order", "3"}, late.lock_id));
        other->run("update orders set text = '" + table + "' where id = 3");
        run("delete from locks where id = '3'");
    }
}

// While a statement is at order 2, somebody leases order 3, which was leased before or never.
TEST_P(InnodbProtection, JudgesALaterRowOfAStatementByLeasesGrantedMeanwhile) {
    enum class Order3 : std::uint8_t { leased_before, never_leased };
    const auto is_refused = [&](Order3 order_3, Mode mode) {
        (void)must(locks().release({"Order", "3"}, lease("3").lock_id));
        if (order_3 == Order3::never_leased) run("delete from locks where type = 'Order'");
        const auto other = harness().connect();
        other->run("select get_lock('order 2', 0)");
        bool refused = false;
        std::thread statement{[&] {
            refused = refuses(
                "update orders set text = if(id = 2, get_lock('order 2', 60), 'x') order by id",
                mode == Mode::shared ? "is shared by alice" : "is held by alice");
        }};
        while (other->run("select 1 from information_schema.processlist where state = 'User lock'")
                   .empty()) {
            std::this_thread::yield();
        }
        const Lease late =
            must(locks().try_lock({"Order", "3"}, {.owner = "alice", .mode = mode, .ttl = 1h}));
        other->run("select release_lock('order 2')");
        statement.join();
        run("select release_all_locks()");
        (void)must(locks().release({"Order", "3"}, late.lock_id));
        return refused;
    };
    run("set session transaction isolation level read committed");
    for (const Mode mode : {Mode::exclusive, Mode::shared}) {
        EXPECT_TRUE(is_refused(Order3::leased_before, mode));
        EXPECT_TRUE(is_refused(Order3::never_leased, mode));
    }
    run("set session transaction isolation level repeatable read");
    EXPECT_TRUE(is_refused(Order3::leased_before, Mode::exclusive));
    // The case that docs/protect.md leaves open: a locking read would lock the gap.
    EXPECT_FALSE(is_refused(Order3::never_leased, Mode::exclusive));
    (void)harness().protection()->protect(
        {.name = "orders", .key = "Order/{id}", .unleased = ProtectedTable::Unleased::refused});
    EXPECT_TRUE(refuses("update orders set text = 'x' where id = 3", "needs a lease"));
}

// Keys are bytes: they are sent in UTF-8, whatever the session makes of texts.
TEST_P(InnodbProtection, TakesTheGuardUnderEveryModeAndCharacterSet) {
    run("create table places (id varchar(40) character set latin1 primary key, text varchar(40)) "
        "character set utf8mb4");
    protect("places", "Place/{id}");
    run("insert into places values ('k\u00f6ln', 'old'), ('a\"b', 'old')");
    for (const std::string setting :
         {"sql_mode = 'ANSI_QUOTES'", "sql_mode = 'NO_BACKSLASH_ESCAPES'", "sql_mode = ''",
          "names utf8mb4", "names latin1"}) {
        for (const std::string id : {"k\u00f6ln", "a\"b", "it's \\ here"}) {
            const LockKey key{"Place", id};
            const Lease alice = must(locks().try_lock(key, {.owner = "alice", .ttl = 1h}));
            for (const bool in_sql : {false, true}) {
                app_ = harness().connect();
                run("set " + setting);
                run("start transaction");
                if (in_sql) {
                    // The bytes of the key, as a parameter of another language sends them.
                    EXPECT_EQ(app_->guard_in_sql(key, alice.lock_id.to_string()), alice.fence)
                        << setting << ' ' << id;
                } else {
                    EXPECT_TRUE(granted(app_->guard(key, alice.lock_id))) << setting << ' ' << id;
                }
                run("update places set text = 'new' where text <> ''");
                run("rollback");
            }
            (void)must(locks().release(key, alice.lock_id));
        }
    }
    // A connection in latin1 that sends latin1 names another key.
    const Lease alice = must(locks().try_lock({"Place", "k\u00f6ln"}, {.owner = "alice"}));
    run("set names latin1");
    run("start transaction");
    EXPECT_TRUE(
        refuses("select leasehold_guard('Place', 'k\xf6ln', '" + alice.lock_id.to_string() + "')",
                "no such lease is known"));
    run("rollback");
}

TEST_P(InnodbProtection, PresentingEndsWithAStatementThatCommits) {
    const Lease alice = lease("1");
    run("start transaction");
    (void)app_->guard_in_sql(key_, alice.lock_id.to_string());
    run("create table another (id integer)");
    EXPECT_TRUE(refuses("update orders set text = 'x' where id = 1"));
}

TEST_P(InnodbProtection, FindsSettingsOfTheServerThatMakeItUnfit) {
    const auto only_problem = [&] {
        const auto problems = harness().protection()->problems();
        return problems.size() == 1 ? problems.front().text : std::to_string(problems.size());
    };
    const std::string format = run("select @@global.binlog_format").front().front();
    run("set global binlog_format = 'STATEMENT'");
    EXPECT_TRUE(only_problem().starts_with("binlog_format is STATEMENT")) << only_problem();
    run("set global binlog_format = '" + format + "'");
    EXPECT_TRUE(harness().protection()->problems().empty());
}

TEST_P(InnodbProtection, FindsRoutinesThatWereChanged) {
    run("drop procedure leasehold_judge");
    run("create procedure leasehold_judge() begin end");
    run("delete from lock_shares where type = x'00'");
    const auto problems = harness().protection()->problems();
    ASSERT_EQ(problems.size(), 2U);
    EXPECT_TRUE(problems.front().text.ends_with("installs: leasehold_judge"))
        << problems.front().text;
    EXPECT_TRUE(problems.back().text.starts_with("the table lock_shares is missing, or its row"));
    protect("orders", "Order/{id}");
    EXPECT_TRUE(harness().protection()->problems().empty());
}

TEST_P(InnodbProtection, JudgesEveryWayOfWritingButCascades) {
    (void)lease("1");
    EXPECT_TRUE(refuses("replace into orders values (1, 'x')"));
    EXPECT_TRUE(refuses("insert into orders values (1, 'x') on duplicate key update text = 'x'"));
    EXPECT_TRUE(refuses("update ignore orders set text = 'x' where id = 1"));
    EXPECT_TRUE(refuses("delete ignore from orders where id = 1"));
    EXPECT_TRUE(refuses("update orders o join orders p on o.id = p.id set o.text = 'x'"));
    EXPECT_TRUE(refuses("delete o, p from orders o join orders p on o.id = p.id where o.id = 1"));
    (void)lease("4");
    EXPECT_TRUE(refuses("insert ignore into orders values (4, 'x')"));

    run("create table order_lines (order_id integer not null, id integer primary key, foreign key "
        "(order_id) references orders (id) on delete cascade)");
    run("insert into order_lines values (2, 20)");
    const auto warnings =
        harness().protection()->protect({.name = "order_lines", .key = "Line/{id}"});
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_NE(warnings.front().find("CASCADE"), std::string::npos);
    (void)must(locks().try_lock({"Line", "20"}, {.owner = "alice"}));
    EXPECT_TRUE(refuses("delete from order_lines"));
    run("delete from orders where id = 2");  // runs no triggers
    EXPECT_TRUE(run("select * from order_lines").empty());
    EXPECT_THROW(protect("mine", "X/{id}"), BadRequest);
    run("create table mine (id integer primary key) engine = MyISAM");
    EXPECT_THROW(protect("mine", "X/{id}"), BadRequest);
}

// A parent under another key is judged by that key, and its cascade deletes the leased row.
TEST_P(InnodbProtection, CountsAParentOnlyIfItsKeyIsTheKeyOfItsChildren) {
    using Unleased = ProtectedTable::Unleased;
    const auto problem_of = [&](const std::string& child, const std::string& key,
                                Unleased unleased = Unleased::writable) -> std::string {
        const auto warnings =
            harness().protection()->protect({.name = child, .key = key, .unleased = unleased});
        const auto problems = harness().protection()->problems();
        EXPECT_EQ(warnings.size(), problems.size()) << key;
        if (problems.empty()) return "";
        EXPECT_EQ(problems.front().table, child);
        EXPECT_EQ(warnings.front(), problems.front().text + "; " + problems.front().advice);
        return warnings.front();
    };
    run("create table order_lines (order_id integer not null, id integer primary key, foreign key "
        "(order_id) references orders (id) on delete cascade)");
    EXPECT_TRUE(problem_of("order_lines", "Line/{id}")
                    .contains("leased rows of 'order_lines' can be deleted"));
    EXPECT_TRUE(problem_of("order_lines", "Line/{order_id}").contains("by the key Line/{id}"));
    EXPECT_EQ(problem_of("order_lines", "Order/{order_id}"), "");
    EXPECT_TRUE(problem_of("order_lines", "Order/{order_id}", Unleased::refused)
                    .contains("protect 'orders' with --require, too"));
    EXPECT_EQ(problem_of("order_lines", "Order/{order_id}"), "");
    EXPECT_TRUE(harness().protection()->unprotect("orders"));
    const auto problems = harness().protection()->problems();
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_TRUE(problems.front().advice.starts_with("protect 'orders' too, by the key Order/{id}"));
    protect("orders", "Order/{id}");
    run("drop table order_lines");
    EXPECT_TRUE(harness().protection()->unprotect("order_lines"));

    run("create table places (tenant integer, code varchar(20), name varchar(20), primary key "
        "(tenant, code), unique (code), unique (name))");
    run("create table parts (id integer primary key, owner integer not null, place varchar(20) not "
        "null, foreign key (owner, place) references places (tenant, code) on update cascade)");
    protect("places", "Place/{tenant}");
    EXPECT_EQ(problem_of("parts", "Place/{owner}"), "");
    protect("places", "Place/{code}");
    // 'a' and 'A' are the same to this foreign key, and two keys.
    EXPECT_TRUE(problem_of("parts", "Place/{place}").contains("judged by the key"));
    EXPECT_TRUE(harness().protection()->unprotect("parts"));
    EXPECT_TRUE(harness().protection()->unprotect("places"));

    // Triggers judge writes to the table itself, but not the rows that a cascade deletes.
    run("create table tree (id integer primary key, parent integer, foreign key (parent) "
        "references tree (id) on delete cascade)");
    EXPECT_TRUE(problem_of("tree", "Node/{id}").contains("leased rows of 'tree'"));
}

// The file is on the server's machine. The client never sends one, because LOCAL is switched off.
TEST_P(InnodbProtection, JudgesLoadData) {
    (void)lease("5");
    const std::string file = run("select concat(@@tmpdir, '/', uuid())").front().front();
    const auto make_file = [&](const std::string& name, const std::string& ids) {
        run("select id, 'loaded' into outfile '" + file + name + "' from (" + ids +
            ") rows_to_load");
    };
    make_file("free", "select 3 as id union select 4");
    make_file("leased", "select 6 as id union select 5");
    for (const std::string way : {"", "ignore ", "replace "}) {
        EXPECT_TRUE(refuses("load data infile '" + file + "leased' " + way + "into table orders"))
            << way;
        EXPECT_EQ(run("select group_concat(id order by id) from orders").front().front(), "1,2,3")
            << way;
    }
    run("load data infile '" + file + "free' replace into table orders");
    EXPECT_EQ(run("select group_concat(id order by id) from orders where text = 'loaded'"),
              (CallerTransaction::Rows{{"3,4"}}));
}

// As counted, of the dialect that needs more. One of the searches is for the row that no temporary
// table has, and one of MySQL's for the transaction. An insert is judged before and after it.
TEST_P(InnodbProtection, SearchesTheLocksAtMostThreeTimesForARowThatNobodyHasLeased) {
    run("create table plain (id integer not null primary key, text varchar(40))");
    run("insert into plain values (1, 'old'), (2, 'old'), (3, 'old')");
    const auto searches = [&] {
        return std::stoi(run("show session status like 'Handler_read_key'").at(0).at(1));
    };
    const auto cost_of = [&](const std::string& write) {
        const int before = searches();
        run(write);
        return searches() - before;
    };
    const auto expect_at_most = [&](int for_an_update, int for_an_insert, const std::string& when) {
        for (const auto& [write, most] :
             {std::pair{"update {} set text = uuid() where id = 1", for_an_update},
              std::pair{"update {} set text = uuid() where id = 1", for_an_update},
              std::pair{"insert into {} values (9, 'x')", for_an_insert}}) {
            const auto on = [&](const std::string& table) {
                std::string sql = write;
                return sql.replace(sql.find("{}"), 2, table);
            };
            EXPECT_LE(cost_of(on("orders")) - cost_of(on("plain")), most) << write << ", " << when;
        }
        run("delete from orders where id = 9");
        run("delete from plain where id = 9");
    };
    run("update orders set text = 'new'");  // the session reads the routines once
    run("insert into orders values (8, 'x')");
    expect_at_most(3, 6, "alone");
    run("set session transaction isolation level read committed");
    expect_at_most(3, 6, "alone, committed");
    run("start transaction");
    expect_at_most(3, 6, "in a transaction");
    run("commit");
    for (const std::string id : {"1", "9"}) {
        (void)must(locks().release({"Order", id}, lease(id).lock_id));
    }
    run("start transaction");
    expect_at_most(11, 22, "leased before");
    run("commit");
    const Lease first = lease("1");
    const Lease ninth = lease("9");
    run("start transaction");
    (void)app_->guard_in_sql(key_, first.lock_id.to_string());
    (void)app_->guard_in_sql({"Order", "9"}, ninth.lock_id.to_string());
    expect_at_most(17, 34, "presented");
    run("commit");
}

LEASEHOLD_ON(mysql_and_mariadb(), InnodbProtection);

class MysqlProtection : public DialectProtection {};

// A transaction could not be told from a statement that is its own transaction.
TEST_P(MysqlProtection, RefusesWritesWhileTheServerDoesNotCountTransactions) {
    const auto admin = harness().connect();
    for (const std::string setting :
         {"setup_consumers set enabled = '{}' where name = 'events_transactions_current'",
          "setup_consumers set enabled = '{}' where name = 'thread_instrumentation'",
          "setup_consumers set enabled = '{}' where name = 'global_instrumentation'",
          "setup_instruments set enabled = '{}' where name = 'transaction'",
          "setup_actors set enabled = '{}'"}) {
        const auto turn = [&](const std::string& on) {
            std::string sql = "update performance_schema." + setting;
            admin->run(sql.replace(sql.find("{}"), 2, on));
        };
        turn("NO");
        app_ = harness().connect();
        run("start transaction");
        run("select * from orders");
        const Lease late = lease("1");
        EXPECT_TRUE(refuses("update orders set text = 'x' where id = 1", "does not count"))
            << setting;
        run("rollback");
        const auto problems = harness().protection()->problems();
        turn("YES");
        ASSERT_EQ(problems.size(), 1U) << setting;
        EXPECT_TRUE(problems.front().text.starts_with("the performance schema does not count"));
        EXPECT_TRUE(harness().protection()->problems().empty()) << setting;
        app_ = harness().connect();
        run("update orders set text = 'new' where id = 2");
        (void)must(locks().release({"Order", "1"}, late.lock_id));
        run("delete from locks where type = 'Order'");
    }
}

LEASEHOLD_ON(only_mysql(), MysqlProtection);

class MariadbProtection : public DialectProtection {};

// As a dump brings them from another server, whose transactions had the same numbers.
TEST_P(MariadbProtection, ForgetsWhoPresentedALeaseWhenATableIsProtectedAgain) {
    const Lease alice = lease("1");
    run("start transaction");
    (void)app_->guard_in_sql(key_, alice.lock_id.to_string());
    run("commit");
    const std::string presented = "select count(*) from lock_presented where type = 'Order'";
    EXPECT_EQ(run(presented).front().front(), "1");
    protect("orders", "Order/{id}");
    EXPECT_EQ(run(presented).front().front(), "0");
    EXPECT_TRUE(refuses("update orders set text = 'x' where id = 1"));
    const Lease restored = lease("2");
    run("start transaction");
    (void)app_->guard_in_sql({"Order", "2"}, restored.lock_id.to_string());
    run("commit");
    run("start transaction");
    (void)app_->guard_in_sql(key_, alice.lock_id.to_string());
    protect("orders", "Order/{id}");
    run("update orders set text = 'new' where id = 1");
    run("commit");
    EXPECT_EQ(run(presented + " and id = '1'").front().front(), "1");
    EXPECT_EQ(run(presented + " and id = '2'").front().front(), "0");
}

const std::vector<UnderTest<SqlHarness>> only_mariadb{{"mariadb", make_mariadb_harness}};
LEASEHOLD_ON(only_mariadb, MariadbProtection);

class SqliteProtection : public DialectProtection {};

TEST_P(SqliteProtection, TakesTheStatementsOfTheDocumentation) {
    const Lease other = lease("2");
    run("begin immediate");
    (void)app_->guard_in_sql({"Order", "2"}, other.lock_id.to_string());  // loads the extension
    run("rollback");
    save_as_documented("SQLite", "?");
}

TEST_P(SqliteProtection, JudgesEveryWayOfWriting) {
    (void)lease("1");
    EXPECT_TRUE(refuses("replace into orders values (1, 'x')"));
    run("insert or ignore into orders values (4, 'y'), (1, 'x')");  // ignores the second row
    EXPECT_EQ(run("select text from orders where id = 1").front().front(), "old");
    (void)lease("5");
    EXPECT_TRUE(refuses("insert or ignore into orders values (5, 'x')"));
    EXPECT_TRUE(refuses("update or ignore orders set text = 'x' where id = 1"));
    EXPECT_TRUE(refuses("update or replace orders set id = 1 where id = 2"));
    EXPECT_TRUE(refuses("update or fail orders set text = 'x'"));
    EXPECT_TRUE(refuses("insert into orders values (1, 'x') on conflict do update set text = 'x'"));
    EXPECT_TRUE(refuses("delete from orders"));
    run("pragma foreign_keys = on");
    run("create table order_lines (order_id integer not null references orders on delete cascade, "
        "id "
        "integer primary key)");
    run("insert into order_lines values (1, 10), (2, 20)");
    protect("order_lines", "Line/{id}");
    (void)must(locks().try_lock({"Line", "20"}, {.owner = "alice"}));
    EXPECT_TRUE(refuses("delete from orders where id = 2"));
    run("delete from orders where id = 3");
}

// In a table with few rows, every search reads one page, and one more for the row that it finds.
TEST_P(SqliteProtection, SearchesTheLocksAtMostTwiceForARowThatNobodyHasLeased) {
    run("create table plain (id integer not null primary key, text varchar(40))");
    run("insert into plain values (1, 'old'), (2, 'old'), (3, 'old')");
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(run("pragma database_list").front().at(2).c_str(), &db), SQLITE_OK);
    const std::unique_ptr<sqlite3, decltype(&sqlite3_close)> closing{db, sqlite3_close};
    const auto pages_read = [&] {
        int all = 0;
        for (const int kind : {SQLITE_DBSTATUS_CACHE_HIT, SQLITE_DBSTATUS_CACHE_MISS}) {
            int pages = 0;
            int highest = 0;
            sqlite3_db_status(db, kind, &pages, &highest, 0);
            all += pages;
        }
        return all;
    };
    const auto cost_of = [&](const std::string& write) {
        const int before = pages_read();
        EXPECT_EQ(sqlite3_exec(db, write.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
            << sqlite3_errmsg(db);
        return pages_read() - before;
    };
    const auto expect_at_most = [&](int searches_more, const std::string& when) {
        for (const std::string write :
             {"insert into {} values (9, 'x')", "update {} set text = 'x' where id = 9",
              "delete from {} where id = 9"}) {
            const auto on = [&](const std::string& table) {
                std::string sql = write;
                return sql.replace(sql.find("{}"), 2, table);
            };
            EXPECT_LE(cost_of(on("orders")) - cost_of(on("plain")), searches_more)
                << write << ", " << when;
        }
    };
    (void)cost_of("update orders set text = 'x'");  // the connection reads the schema once
    expect_at_most(2, "never leased");
    (void)must(locks().release({"Order", "9"}, lease("9").lock_id));
    (void)cost_of("update orders set text = 'x'");
    expect_at_most(3, "leased before");
}

TEST_P(SqliteProtection, FindsAViewThatWasChanged) {
    run("drop view lock_refusals");
    run("create view lock_refusals as select type, id, '' as sentence from locks where false");
    const auto problems = harness().protection()->problems();
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_TRUE(problems.front().text.starts_with("the view lock_refusals is not"));
    protect("orders", "Order/{id}");
    EXPECT_TRUE(harness().protection()->problems().empty());
}

// The triggers go with the table, and with its columns.
TEST_P(SqliteProtection, ANewTableWithTheNameOfARenamedOneDisturbsItNot) {
    (void)lease("1");
    run("alter table orders rename to old_orders");
    run("create table orders (number integer not null primary key)");
    protect("orders", "Order/{number}");
    EXPECT_TRUE(refuses("insert into orders values (1)"));
    run("insert into orders values (2)");
    EXPECT_TRUE(refuses("update old_orders set text = 'x' where id = 1"));
    run("update old_orders set text = 'new' where id = 2");
    EXPECT_TRUE(harness().protection()->problems().empty());
    EXPECT_TRUE(harness().protection()->unprotect("orders"));
    run("insert into orders values (1)");
    EXPECT_TRUE(refuses("update old_orders set text = 'x' where id = 1"));
    protect("old_orders", "Order/{id}");
    EXPECT_TRUE(refuses("update old_orders set text = 'x' where id = 1"));
    run("alter table old_orders rename column id to nr");
    EXPECT_TRUE(refuses("update old_orders set text = 'x' where nr = 1"));
    const auto problems = harness().protection()->problems();
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_TRUE(problems.front().text.starts_with("the table has changed: "));
    protect("old_orders", "Order/{nr}");
    EXPECT_TRUE(harness().protection()->problems().empty());
    EXPECT_TRUE(harness().protection()->unprotect("old_orders"));
    run("update old_orders set text = 'x' where nr = 1");
}

TEST_P(SqliteProtection, UnprotectByTheFormerNameOfATable) {
    (void)lease("1");
    run("alter table orders rename to old_orders");
    EXPECT_TRUE(harness().protection()->unprotect("orders"));
    run("update old_orders set text = 'x' where id = 1");
}

TEST_P(SqliteProtection, KnowsTheKeyOfARowThatGetsItsNumberFromSqlite) {
    run("create table notes (id integer primary key, text text unique collate nocase)");
    EXPECT_EQ(harness().protection()->protect({.name = "NOTES", .key = "Order/{ID}"}).size(), 1U);
    EXPECT_EQ(harness().protection()->tables().front(),
              (ProtectedTable{.name = "notes", .key = "Order/{id}"}));
    (void)lease("1");
    EXPECT_TRUE(refuses("insert into notes (text) values ('gets 1')"));
    run("insert into notes values (2, 'a')");
    protect("notes", "Text/{text}");
    (void)must(locks().try_lock({"Text", "A"}, {.owner = "alice"}));
    EXPECT_TRUE(refuses("update notes set text = 'A'"));
}

TEST_P(SqliteProtection, WarnsOfUniqueColumnsByWhichAReplaceDeletesALeasedRow) {
    const auto warnings = [&](const std::string& table, const std::string& key) {
        return harness().protection()->protect({.name = table, .key = key}).size();
    };
    EXPECT_EQ(warnings("orders", "Order/{id}"), 0U);
    EXPECT_EQ(warnings("orders", "Orders/all"), 0U);
    run("create table order_lines (id integer primary key, order_id integer)");
    EXPECT_EQ(warnings("order_lines", "Order/{order_id}"), 1U);
    const auto repeated = harness().protection()->warnings();
    ASSERT_EQ(repeated.size(), 1U);
    EXPECT_EQ(repeated.front().table, "order_lines");
    EXPECT_TRUE(repeated.front().text.contains("OR REPLACE"));
    run("create table places (tenant text, id text, name text, primary key (tenant, id))");
    EXPECT_EQ(warnings("places", "{tenant}:Place/{id}"), 0U);
    run("create unique index place_names on places (name)");
    EXPECT_EQ(warnings("places", "{tenant}:Place/{id}"), 1U);
    run("insert into places values ('a', '1', 'one'), ('a', '2', 'two')");
    (void)must(locks().try_lock({"a:Place", "1"}, {.owner = "alice"}));
    run("pragma recursive_triggers = on");
    for (const std::string write : {"update or replace places set name = 'one' where id = '2'",
                                    "insert or replace into places values ('a', '3', 'one')"}) {
        EXPECT_TRUE(refuses(write)) << write;
    }
}

LEASEHOLD_ON(only_sqlite(), SqliteProtection);

}  // namespace
}  // namespace leasehold::conformance
