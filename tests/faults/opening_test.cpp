#include <atomic>
#include <future>

#include "faults/databases.hpp"
#include "faults/grant_forever.hpp"

namespace leasehold::faults {
namespace {

StoreFault fault_of_opening(const std::string& url) {
    try {
        (void)open_store(url);
    } catch (const StoreFault& fault) {
        return fault;
    }
    return {Effect::unknown, Cause::internal, "it was opened"};
}

::testing::AssertionResult mentions(std::string_view text, std::string_view part) {
    if (text.find(part) != std::string_view::npos) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "no '" << part << "' in: " << text;
}

class Opening : public DatabaseTest {};
INSTANTIATE_TEST_SUITE_P(, Opening, ::testing::ValuesIn(every_database()), by_store());

TEST_P(Opening, FindsSafeSettingsStrong) {
    LockManager locks{open_store(url("durability=strict"))};
    EXPECT_EQ(locks.status().durability, Durability::strong);
    EXPECT_EQ(locks.status().warnings, std::vector<std::string>{});
    EXPECT_TRUE(mentions(locks.status().name, GetParam().store));
}

TEST_P(Opening, TakesAnyTimeToWaitForAnAnswer) {
    // 2^32 + 1, of which an int keeps 1; and a century.
    for (const std::string time : {"4294967297", "3153600000000"}) {
        LockManager locks{open_store(url("io_timeout_ms=" + time))};
        EXPECT_TRUE(locks.try_lock({"Order", time}, {.owner = "alice", .ttl = 1min}));
    }
}

TEST_P(Opening, RefusesTablesOfANewerLeasehold) {
    (void)open_store(url());
    const auto session = connect();
    if (session->run("select * from leasehold").size() == 1) {
        session->run("update leasehold set schema = 99");
    } else {
        session->run("update leasehold set value = 99 where name = 'schema'");
    }
    const StoreFault fault = fault_of_opening(url());
    EXPECT_EQ(fault.cause(), Cause::configuration);
    EXPECT_TRUE(mentions(fault.what(), "99"));
    EXPECT_TRUE(mentions(fault.what(), "use a newer Leasehold"));
}

TEST_P(Opening, RefusesATableLocksOfSomebodyElseAndLeavesItAlone) {
    const auto session = connect();
    session->run("create table locks (door varchar(20), colour varchar(20))");
    session->run("insert into locks values ('front', 'green')");
    const StoreFault fault = fault_of_opening(url());
    EXPECT_EQ(fault.cause(), Cause::configuration);
    EXPECT_TRUE(mentions(fault.what(), "`locks`"));
    EXPECT_EQ(session->run("select * from locks"), (Rows{{"front", "green"}}));
}

TEST_P(Opening, ByManyThreadsAtOnceMakesTheTablesOnce) {
    constexpr int openers = 8;
    std::atomic<int> granted = 0;
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < openers; ++i) {
            threads.emplace_back([&, i] {
                try {
                    LockManager locks{open_store(url())};
                    Result<Lease> lease = std::unexpected{Refusal{}};
                    EXPECT_TRUE(eventually([&] {
                        lease = locks.try_lock({"Order", std::to_string(i)});
                        return lease || lease.error().kind != Refusal::Kind::busy;
                    }));
                    if (lease) ++granted;
                } catch (const StoreFault& fault) {
                    ADD_FAILURE() << fault.what();
                }
            });
        }
    }
    EXPECT_EQ(granted, openers);
}

TEST_P(Opening, ByManyProcessesAtOnceMakesTheTablesOnce) {
    std::vector<std::unique_ptr<GrantForever>> children;
    for (const char* prefix : {"a-", "b-", "c-", "d-"}) {
        children.push_back(std::make_unique<GrantForever>(url(), prefix));
    }
    for (const auto& child : children) EXPECT_TRUE(child->wait_for_grants(1)) << child->log();
}

// Another process that is just making the tables, and takes its time.
struct Making {
    std::vector<std::string> begin;
    std::string end;
};

Making making_on(std::string_view store) {
    if (store == "sqlite") return {{"pragma journal_mode = wal", "begin immediate"}, "commit"};
    if (store == "mariadb") {
        return {{"select get_lock(concat('leasehold/', md5(database())), 0)"},
                "select release_lock(concat('leasehold/', md5(database())))"};
    }
    return {{"begin", "select pg_advisory_xact_lock(hashtext('leasehold schema'))"}, "commit"};
}

TEST_P(Opening, WaitsForAnotherThatIsMakingTheTables) {
    const Making making = making_on(GetParam().store);
    const auto other = connect();
    for (const std::string& statement : making.begin) other->run(statement);
    auto opening = std::async(std::launch::async, [&] { return fault_of_opening(url()); });
    EXPECT_EQ(opening.wait_for(1s), std::future_status::timeout);
    other->run(making.end);
    EXPECT_STREQ(opening.get().what(), "it was opened");
}

class OpeningSqlite : public DatabaseTest {};
INSTANTIATE_TEST_SUITE_P(, OpeningSqlite, ::testing::Values(every_database().front()), by_store());

TEST_P(OpeningSqlite, WaitsForAnApplicationThatIsMakingItsTablesInTheFile) {
    const auto application = connect();
    application->run("begin immediate");
    application->run("create table orders (id integer primary key)");
    auto opening = std::async(std::launch::async, [&] { return fault_of_opening(url()); });
    EXPECT_EQ(opening.wait_for(1s), std::future_status::timeout);
    application->run("commit");
    EXPECT_STREQ(opening.get().what(), "it was opened");
}

struct Wrong {
    std::string url;
    std::string named;  // in the fault
    Cause cause;
};

void expect_clear(const Wrong& wrong) {
    const StoreFault fault = fault_of_opening(wrong.url);
    EXPECT_EQ(fault.effect(), Effect::none) << fault.what();
    EXPECT_EQ(fault.cause(), wrong.cause) << fault.what();
    EXPECT_TRUE(mentions(fault.what(), wrong.named));
    EXPECT_FALSE(mentions(fault.what(), "hunter2"));
}

class OpeningServer : public ServerTest {};
INSTANTIATE_TEST_SUITE_P(, OpeningServer, ::testing::ValuesIn(every_server()), by_store());

TEST_P(OpeningServer, SaysClearlyWhatIsWrongAndNeverThePassword) {
    const std::string scheme = GetParam().store;
    const std::string here = "@127.0.0.1:" + std::to_string(database().port()) + "/";
    const std::string nowhere = "@127.0.0.1:" + std::to_string(testing::free_port()) + "/";
    expect_clear(
        {scheme + "://stranger:hunter2" + here + name(), "stranger", Cause::configuration});
    expect_clear({scheme + "://app:hunter2" + nowhere + name(), "127.0.0.1", Cause::unavailable});
    expect_clear({database().url("no_such_database"), "no_such_database", Cause::configuration});
    EXPECT_EQ(fault_of_opening(scheme + "://app:hunter2@no.such.host.invalid/x").effect(),
              Effect::none);
    EXPECT_FALSE(mentions(fault_of_opening(scheme + "://app:hunter2@no.such.host.invalid/x").what(),
                          "hunter2"));
}

TEST_P(OpeningServer, FailsInTimeWhereNobodyAnswers) {
    database().pause();
    const auto asked = SteadyClock::now();
    const StoreFault fault = fault_of_opening(url("io_timeout_ms=1000"));
    database().resume();
    EXPECT_LT(SteadyClock::now() - asked, 8s);
    EXPECT_EQ(fault.effect(), Effect::none);
    EXPECT_EQ(fault.cause(), Cause::unavailable) << fault.what();
}

// Settings that lose answered changes. All of them can be changed while the server runs.
struct Unsafe {
    On<Server> on;
    std::string setting;
    std::vector<std::string> make_unsafe;
    std::vector<std::string> make_safe;
};

void PrintTo(const Unsafe& unsafe, std::ostream* out) {
    *out << unsafe.setting;
}

Unsafe postgres_off(const std::string& setting) {
    return {on_postgres(),
            setting,
            {"alter system set " + setting + " = off", "select pg_reload_conf()"},
            {"alter system reset " + setting, "select pg_reload_conf()"}};
}

Unsafe mariadb_flushing(const std::string& value) {
    return {on_mariadb(),
            "innodb_flush_log_at_trx_commit",
            {"set global innodb_flush_log_at_trx_commit = " + value},
            {"set global innodb_flush_log_at_trx_commit = 1"}};
}

class UnsafeSetting : public ::testing::TestWithParam<Unsafe> {
protected:
    UnsafeSetting() { run(GetParam().make_unsafe); }
    ~UnsafeSetting() override { run(GetParam().make_safe); }

    std::string url() const { return database_.url(name_); }

private:
    void run(const std::vector<std::string>& statements) {
        const auto session = database_.connect(name_);
        for (const std::string& statement : statements) session->run(statement);
    }

    Server& database_ = GetParam().on.database();
    std::string name_ = database_.make();
};
INSTANTIATE_TEST_SUITE_P(, UnsafeSetting,
                         ::testing::Values(postgres_off("fsync"), postgres_off("full_page_writes"),
                                           postgres_off("synchronous_commit"),
                                           mariadb_flushing("0"), mariadb_flushing("2")),
                         [](const auto& unsafe) {
                             return std::string{unsafe.param.on.store} + "_" +
                                    unsafe.param.setting + "_" + std::to_string(unsafe.index);
                         });

TEST_P(UnsafeSetting, IsNamedInAWarningAndRefusedByTheStrict) {
    // The server's processes take in a new configuration one by one.
    StoreStatus status;
    EXPECT_TRUE(eventually([&] {
        status = open_store(url())->status();
        return status.durability == Durability::weak;
    }));
    ASSERT_EQ(status.warnings.size(), 1U);
    EXPECT_TRUE(mentions(status.warnings.front(), GetParam().setting));

    const StoreFault fault = fault_of_opening(url() + "?durability=strict");
    EXPECT_EQ(fault.cause(), Cause::configuration);
    EXPECT_TRUE(mentions(fault.what(), GetParam().setting));
}

class OpeningPostgres : public ServerTest {};
INSTANTIATE_TEST_SUITE_P(, OpeningPostgres, ::testing::Values(on_postgres()), by_store());

// In another encoding the same bytes would be another key.
TEST_P(OpeningPostgres, LeavesTheEncodingNoChoice) {
    LockManager locks{open_store(url())};
    LockManager latin{open_store(url("client_encoding=LATIN1"))};
    ASSERT_TRUE(latin.try_lock({"Order", "\u00e4"}));
    EXPECT_FALSE(locks.try_lock({"Order", "\u00e4"}));
}

TEST_P(OpeningPostgres, TakesOverThePatternsTableWithItsRows) {
    const auto session = connect();
    const LockId held = LockId::random();
    session->run(
        "create table locks (type varchar(50), id varchar(50), lockid varchar(50), "
        "expiration_time timestamp with time zone, primary key (type, id))");
    session->run("create unique index locks_by_id on locks (lockid)");
    session->run("insert into locks values ('Order', '1', '" + held.to_string() +
                 "', now() + interval '1 hour'), ('Order', '2', '" + LockId::random().to_string() +
                 "', now() - interval '1 hour')");
    LockManager locks{open_store(url())};
    EXPECT_TRUE(locks.check({"Order", "1"}, held));
    EXPECT_FALSE(locks.try_lock({"Order", "1"}));
    EXPECT_TRUE(locks.try_lock({"Order", "2"}));
    EXPECT_TRUE(locks.release({"Order", "1"}, held));
    EXPECT_TRUE(locks.try_lock({"Order", "1"}));
}

}  // namespace
}  // namespace leasehold::faults
