#include <algorithm>
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
    // 2^32 + 1, which is 1 in an int of 32 bits; and a century.
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

// Another process that is making the tables, slowly.
struct Making {
    std::vector<std::string> begin;
    std::string end;
};

Making making_on(std::string_view store) {
    if (store == "sqlite") return {{"pragma journal_mode = wal", "begin immediate"}, "commit"};
    if (store == "mariadb" || store == "mysql") {
        const std::string name = store == "mariadb"
                                     ? "concat('leasehold/', md5(database()))"
                                     : "concat('leasehold/', left(sha2(database(), 256), 48))";
        return {{"select get_lock(" + name + ", 0)"}, "select release_lock(" + name + ")"};
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

TEST_P(OpeningServer, NamesTheMistakeAndNeverThePassword) {
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

Unsafe flushing(const On<Server>& on, const std::string& value) {
    return {on,
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
                                           flushing(on_mariadb(), "0"), flushing(on_mariadb(), "2"),
                                           flushing(on_mysql(), "0"), flushing(on_mysql(), "2"),
                                           Unsafe{on_mysql(),
                                                  "sync_binlog",
                                                  {"set global sync_binlog = 0"},
                                                  {"set global sync_binlog = 1"}},
                                           Unsafe{on_mysql(),
                                                  "redo log",
                                                  {"alter instance disable innodb redo_log"},
                                                  {"alter instance enable innodb redo_log"}}),
                         [](const auto& unsafe) {
                             std::string setting = unsafe.param.setting;
                             std::ranges::replace(setting, ' ', '_');
                             return std::string{unsafe.param.on.store} + "_" + setting + "_" +
                                    std::to_string(unsafe.index);
                         });

TEST_P(UnsafeSetting, IsNamedInAWarningAndRefusedByTheStrict) {
    // The server's processes load a new configuration one by one.
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

class OpeningMariadbOrMysql : public ServerTest {};
INSTANTIATE_TEST_SUITE_P(, OpeningMariadbOrMysql, ::testing::Values(on_mysql(), on_mariadb()),
                         by_store());

TEST_P(OpeningMariadbOrMysql, AsTheOtherIsRefusedAndNamesTheRightUrl) {
    const std::string store = GetParam().store;
    const std::string other = store == "mysql" ? "mariadb" : "mysql";
    const StoreFault fault = fault_of_opening(other + url().substr(url().find(':')));
    EXPECT_EQ(fault.cause(), Cause::configuration);
    EXPECT_TRUE(mentions(fault.what(), store + "://"));
}

// The clock that judges leases must be one that no session can set.
TEST_P(OpeningMariadbOrMysql, OfAServerWithSysdateIsNowIsRefused) {
    const auto server = GetParam().make({.settings = {"--sysdate-is-now"}});
    const std::string url = server->url("locks");
    const StoreFault fault = fault_of_opening(url);
    EXPECT_EQ(fault.cause(), Cause::configuration) << fault.what();
    EXPECT_EQ(fault.effect(), Effect::none);
    EXPECT_TRUE(mentions(fault.what(), "sysdate-is-now"));
    server->connect("locks")->run("create table orders (id integer primary key)");
    const auto protection = open_protection(url);
    try {
        (void)protection->protect({.name = "orders", .key = "Order/{id}"});
        ADD_FAILURE() << "it was protected";
    } catch (const StoreFault& unfit) {
        EXPECT_EQ(unfit.cause(), Cause::configuration) << unfit.what();
        EXPECT_TRUE(mentions(unfit.what(), "sysdate-is-now"));
    }
}

// The steps of docs/decisions/pattern-programs.md.
void move_to_another_zone(Session& session) {
    session.run("start transaction");
    session.run(
        "update locks set expiration_time = expiration_time + interval 540 - (select value from "
        "leasehold where name = 'zone') / 60000000 minute where touched_at > 0 and "
        "expiration_time < '9999-12-31'");
    session.run("update leasehold set value = 540 * 60000000 where name = 'zone'");
    session.run("commit");
}

TEST_P(OpeningMariadbOrMysql, InAnotherZoneIsPossibleOnceTheTableWasMoved) {
    const auto program = connect();
    // Two tables that Leasehold adopts as if their programs wrote UTC. One has dates of the zone
    // +09:00, the other one times that the server converts.
    for (const auto& [type, in_an_hour] :
         {std::pair{"datetime(6)", "utc_timestamp(6) + interval 600 minute"},
          std::pair{"timestamp(6)", "now(6) + interval 60 minute"}}) {
        const LockId adopted = LockId::random();
        program->run(
            "create table locks (type varchar(50), id varchar(50), lockid varchar(50), "
            "expiration_time " +
            std::string{type} + ", primary key (type, id))");
        program->run("insert into locks values ('Order', '1', '" + adopted.to_string() + "', " +
                     in_an_hour + "), ('Order', '2', 'over', utc_timestamp())");
        EXPECT_TRUE(open_store(url("adopt=locks")));
        move_to_another_zone(*program);
        LockManager moved{open_store(url("time_zone=+09:00"))};
        const Lease lease = moved.check({"Order", "1"}, adopted).value();
        EXPECT_LT(std::chrono::abs(lease.expires_at - lease.store_now - 1h), 1min) << type;
        program->run("drop table locks, lock_shares, lock_history, leasehold");
    }
    const LockId theirs = LockId::random();
    auto before = std::make_unique<LockManager>(open_store(url()), Limits{.allow_endless = true});
    const Lease ours = before->try_lock({"Order", "1"}, {.owner = "alice", .ttl = 1h}).value();
    const Lease endless =
        before->try_lock({"Order", "2"}, {.owner = "alice", .ttl = until_released}).value();
    before.reset();
    program->run("create table orders (id integer primary key, text varchar(40))");
    program->run("insert into orders values (1, 'old')");
    (void)open_protection(url())->protect({.name = "orders", .key = "Order/{id}"});
    // The program writes a date in the zone +09:00, five minutes from now.
    program->run("insert into locks values ('Order', '3', '" + theirs.to_string() +
                 "', utc_timestamp(6) + interval 545 minute)");
    const StoreFault fault = fault_of_opening(url("time_zone=+09:00"));
    EXPECT_EQ(fault.cause(), Cause::configuration);
    EXPECT_TRUE(mentions(fault.what(), "docs/decisions/pattern-programs.md"));

    move_to_another_zone(*program);
    const auto is_refused = [&](const std::string& id) {
        try {
            program->run("insert into orders values (" + id +
                         ", '') on duplicate key update text = 'x'");
        } catch (const std::exception& error) {
            return mentions(error.what(), "is held by");
        }
        return ::testing::AssertionFailure() << "it was written";
    };
    // The table stays protected, by leases of the same length.
    EXPECT_TRUE(is_refused("1"));
    EXPECT_TRUE(is_refused("3"));
    EXPECT_TRUE(open_protection(url())->problems().empty());

    LockManager locks{open_store(url("time_zone=+09:00"))};
    EXPECT_EQ(locks.check({"Order", "1"}, ours.lock_id).value().expires_at, ours.expires_at);
    EXPECT_EQ(locks.check({"Order", "2"}, endless.lock_id).value().expires_at, endless.expires_at);
    const Lease lease = locks.check({"Order", "3"}, theirs).value();
    EXPECT_LT(std::chrono::abs(lease.expires_at - lease.store_now - 5min), 1min);
    EXPECT_EQ(fault_of_opening(url("time_zone=+00:00")).cause(), Cause::configuration);
    EXPECT_TRUE(open_store(url()));
}

class OpeningAPatternsTable : public ServerTest {
protected:
    void make_table(const std::string& type_of_time) {
        program_->run(
            "create table locks (type varchar(50), id varchar(50), lockid varchar(50), "
            "expiration_time " +
            type_of_time + ", primary key (type, id))");
        program_->run("insert into locks values ('Order', '1', 'old', '2001-01-01')");
        (void)open_store(url("adopt=locks"));
    }
    // The program writes the dates of a zone five hours behind, for five minutes.
    void expect_a_warning(const std::string& date, const std::string& words) {
        EXPECT_EQ(open_store(url())->status().warnings, std::vector<std::string>{});
        program_->run("insert into locks values ('Order', '3', 'dead', " + date + ")");
        const StoreStatus status = open_store(url("durability=strict"))->status();
        EXPECT_EQ(status.durability, Durability::strong);
        ASSERT_EQ(status.warnings.size(), 1U);
        EXPECT_TRUE(
            mentions(status.warnings.front(), "the lock Order/3 of another program " + words));
    }
    const std::unique_ptr<Session> program_ = connect();
};

class OpeningMariadb : public OpeningAPatternsTable {};
INSTANTIATE_TEST_SUITE_P(, OpeningMariadb, ::testing::Values(on_mariadb()), by_store());

// A program that writes dates in a zone five hours behind makes locks that have expired when they
// are taken. Locks that were adopted, or that the program left behind, do not count as such.
TEST_P(OpeningMariadb, WarnsOfLocksThatEndedBeforeTheyWereTaken) {
    make_table("datetime");
    program_->run(
        "insert into locks (type, id, lockid, expiration_time, granted_at) values ('Order', '2', "
        "'left', utc_timestamp() - interval 1 hour, (unix_timestamp() - 7200) * 1000000)");
    expect_a_warning("utc_timestamp() - interval 295 minute", "was over when it was taken");
}

TEST_P(OpeningMariadb, WithABinaryLogThatIsNotFlushedIsWeak) {
    const auto server = GetParam().make({.settings = {"--log-bin", "--binlog-format=ROW"}});
    server->connect("locks")->run("set global sync_binlog = 0");
    const StoreStatus status = open_store(server->url("locks"))->status();
    EXPECT_EQ(status.durability, Durability::weak);
    ASSERT_EQ(status.warnings.size(), 1U);
    EXPECT_TRUE(mentions(status.warnings.front(), "sync_binlog"));
    server->connect("locks")->run("set global sync_binlog = 1");
    EXPECT_EQ(open_store(server->url("locks"))->status().durability, Durability::strong);
}

class OpeningMysql : public OpeningAPatternsTable {};
INSTANTIATE_TEST_SUITE_P(, OpeningMysql, ::testing::Values(on_mysql()), by_store());

// MySQL cannot tell such a lock from one that was left behind, but no zone is days away.
TEST_P(OpeningMysql, WarnsOfLocksThatEndedHoursAgo) {
    make_table("datetime");
    program_->run("insert into locks values ('Order', '0', 'l', utc_timestamp() - interval 9 day)");
    program_->run(
        "insert into locks values ('Order', '2', 'late', utc_timestamp() - interval 9 minute)");
    expect_a_warning("utc_timestamp() - interval 295 minute", "ended long ago and is still there");
}

class OpeningPostgres : public OpeningAPatternsTable {};
INSTANTIATE_TEST_SUITE_P(, OpeningPostgres, ::testing::Values(on_postgres()), by_store());

// The same as on MariaDB. The session's zone decides what a time without a zone means.
TEST_P(OpeningPostgres, WarnsOfLocksThatEndedBeforeTheyWereTaken) {
    make_table("timestamp");
    program_->run(
        "insert into locks (type, id, lockid, expiration_time, granted_at) values ('Order', '2', "
        "'left', now() - interval '1 hour', now() - interval '2 hours')");
    program_->run("set time zone 'UTC'");
    expect_a_warning("(now() at time zone '+5')::timestamp + interval '5 minutes'",
                     "was over when it was taken");
}

// And in a zone nine hours ahead, locks that are nine hours too long.
TEST_P(OpeningPostgres, WarnsOfLocksThatLookHoursLong) {
    make_table("timestamp");
    LockManager locks{open_store(url())};
    ASSERT_TRUE(locks.try_lock({"Order", "2"}, {.ttl = 1h}));
    program_->run("set time zone 'UTC'");
    expect_a_warning("(now() at time zone '-9')::timestamp + interval '5 minutes'",
                     "ends in 9 hours");
}

// In another encoding, the same bytes would be a different key.
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

// A table of a pattern program: the type of its times, and how a time is written.
struct Adopted {
    On<Server> on;
    std::string name;
    std::string type;
    // An SQL expression for a time some hours from now, in the zone +09:00.
    std::string in_hours;
};

void PrintTo(const Adopted& adopted, std::ostream* out) {
    *out << adopted.name;
}

constexpr const char* a_date = "utc_timestamp(6) + interval 9 + {hours} hour";

std::vector<Adopted> every_table() {
    std::vector<Adopted> all;
    for (const On<Server>& on : {on_mysql(), on_mariadb()}) {
        all.push_back({on, "datetime", "datetime", a_date});
        all.push_back({on, "datetime6", "datetime(6)", a_date});
        // The session of the test writes UTC.
        all.push_back({on, "timestamp", "timestamp", "now() + interval {hours} hour"});
        all.push_back({on, "timestamp6", "timestamp(6)", "now(6) + interval {hours} hour"});
    }
    all.push_back({on_postgres(), "timestamp", "timestamp",
                   "(now() at time zone 'UTC') + (9 + {hours}) * interval '1 hour'"});
    all.push_back({on_postgres(), "bigint", "bigint",
                   "((extract(epoch from now()) + {hours} * 3600) * 1000)::bigint"});
    return all;
}

class Adoption : public ::testing::TestWithParam<Adopted> {
protected:
    void make_table(const std::string& keys = "primary key (type, id)") {
        session().run(
            "create table locks (type varchar(50), id varchar(50), lockid varchar(50), "
            "expiration_time " +
            GetParam().type + ", " + keys + ")");
    }
    void insert(const std::string& id, const std::string& lock_id, int hours) {
        std::string time = GetParam().in_hours;
        const std::string hole = "{hours}";
        time.replace(time.find(hole), hole.size(), "(" + std::to_string(hours) + ")");
        session().run("insert into locks values ('Order', '" + id + "', '" + lock_id + "', " +
                      time + ")");
    }
    Session& session() { return *session_; }
    std::unique_ptr<Session> connect() { return database_.connect(name_); }
    std::string url(const std::string& parameters = "") const {
        return database_.url(name_) + "?" + parameters;
    }

private:
    Server& database_ = GetParam().on.database();
    std::string name_ = database_.make();
    std::unique_ptr<Session> session_ = database_.connect(name_);
};
INSTANTIATE_TEST_SUITE_P(, Adoption, ::testing::ValuesIn(every_table()), [](const auto& adopted) {
    return std::string{adopted.param.on.store} + "_" + adopted.param.name;
});

TEST_P(Adoption, OfThePatternsTableKeepsItsLocksAndHappensOnlyIfToldTo) {
    make_table();
    const LockId held = LockId::random();
    insert("1", held.to_string(), 1);
    insert("2", "long ago", -1);
    const Rows before = session().run("select * from locks order by id");

    const StoreFault fault = fault_of_opening(url("time_zone=+09:00"));
    EXPECT_EQ(fault.cause(), Cause::configuration);
    EXPECT_TRUE(mentions(fault.what(), "adopt=locks"));
    EXPECT_EQ(session().run("select * from locks order by id"), before);

    LockManager locks{open_store(url("adopt=locks&time_zone=+09:00"))};
    const auto alive = locks.check({"Order", "1"}, held);
    ASSERT_TRUE(alive);
    EXPECT_LT(std::chrono::abs(alive->expires_at - alive->store_now - 1h), 1min);
    EXPECT_FALSE(locks.try_lock({"Order", "1"}));
    EXPECT_TRUE(locks.try_lock({"Order", "2"}));
    EXPECT_TRUE(locks.release({"Order", "1"}, held));
    EXPECT_TRUE(locks.try_lock({"Order", "1"}));

    // From now on the table belongs to Leasehold.
    LockManager later{open_store(url())};
    EXPECT_FALSE(later.try_lock({"Order", "1"}));
}

TEST_P(Adoption, OfWhatDoesNotFitIsRefusedWithTheReasonAndLeavesTheTable) {
    make_table("unique (type, id)");
    insert("1", "once", 1);
    session().run("insert into locks (type, id, lockid) values ('Order', '2', 'twice')");
    const Rows before = session().run("select * from locks order by id");
    const StoreFault fault = fault_of_opening(url("adopt=locks"));
    EXPECT_EQ(fault.cause(), Cause::configuration) << fault.what();
    EXPECT_FALSE(mentions(fault.what(), "it was opened"));
    EXPECT_EQ(session().run("select * from locks order by id"), before);
}

TEST_P(Adoption, GivesThePatternsIndexOfLockIdsToLeasehold) {
    for (const std::string name : {"locks_lockid", "locks_uk"}) {
        session().run("drop table if exists locks, lock_shares, lock_history, leasehold");
        make_table();
        session().run("create unique index " + name + " on locks (lockid)");
        insert("1", "held", 1);
        LockManager locks{open_store(url("adopt=locks&time_zone=+09:00"))};
        EXPECT_FALSE(locks.try_lock({"Order", "1"}));
        const Lease lease = locks.try_lock({"Order", "2"}).value();
        EXPECT_TRUE(locks.check(lease.lock_id));
    }
}

class AdoptionByInnodb : public Adoption {};
INSTANTIATE_TEST_SUITE_P(, AdoptionByInnodb,
                         ::testing::Values(Adopted{on_mysql(), "mysql", "datetime", a_date},
                                           Adopted{on_mariadb(), "mariadb", "datetime", a_date}),
                         [](const auto& adopted) { return adopted.param.name; });

// A prefix of a lock id is not the whole of it, and an index of another meaning is not Leasehold's.
TEST_P(AdoptionByInnodb, RefusesIndexesThatHaveTheNamesOfItsOwn) {
    make_table();
    insert("1", "held", 1);
    for (const std::string index :
         {"index locks_lockid on locks (lockid)", "index locks_owner on locks (lockid)",
          "unique index locks_lockid on locks (lockid(8))"}) {
        session().run("create " + index);
        const Rows before = session().run("show create table locks");
        const StoreFault fault = fault_of_opening(url("adopt=locks"));
        EXPECT_EQ(fault.cause(), Cause::configuration) << fault.what();
        EXPECT_TRUE(mentions(fault.what(), "rename that index"));
        EXPECT_EQ(session().run("show create table locks"), before) << index;
        session().run("drop " +
                      index.substr(index.find("index"), index.find(" (") - index.find("index")));
    }
    session().run("create unique index short_ids on locks (lockid(8))");
    LockManager locks{open_store(url("adopt=locks&time_zone=+09:00"))};
    EXPECT_FALSE(locks.try_lock({"Order", "1"}));
    EXPECT_TRUE(session()
                    .run("select 1 from information_schema.statistics where table_schema = "
                         "database() and index_name = 'locks_lockid' and sub_part is not null")
                    .empty());
}

// Step 2 of the schema fails here at a view that has the name of a table, and step 1 is repeated.
TEST_P(AdoptionByInnodb, ThatIsCutOffKeepsTheZoneItBeganWith) {
    make_table();
    const LockId held = LockId::random();
    insert("1", held.to_string(), 1);
    session().run("create view lock_history as select 1 as one");
    EXPECT_FALSE(
        mentions(fault_of_opening(url("adopt=locks&time_zone=+09:00")).what(), "it was opened"));
    EXPECT_EQ(session()
                  .run("select column_name from information_schema.columns where table_schema "
                       "= database() and table_name = 'locks' and column_name = 'touched_at'")
                  .size(),
              1U);
    session().run("drop view lock_history");
    session().run("delete from leasehold where name = 'migrating'");
    session().run("update leasehold set value = 0 where name = 'schema'");
    LockManager locks{open_store(url())};
    const Lease lease = locks.check({"Order", "1"}, held).value();
    EXPECT_LT(std::chrono::abs(lease.expires_at - lease.store_now - 1h), 1min);
    EXPECT_EQ(fault_of_opening(url("time_zone=+00:00")).cause(), Cause::configuration);
}

TEST_P(AdoptionByInnodb, ThatIsCutOffLeavesNoZoneIfTheTableIsDropped) {
    make_table();
    session().run("create view lock_history as select 1 as one");
    (void)fault_of_opening(url("adopt=locks&time_zone=+09:00"));
    session().run("drop view lock_history");
    session().run("delete from leasehold where name = 'migrating'");
    session().run("update leasehold set value = 0 where name = 'schema'");
    session().run("drop table locks");
    EXPECT_NO_THROW((void)open_store(url()));
    EXPECT_EQ(fault_of_opening(url("time_zone=+09:00")).cause(), Cause::configuration);
}

// The program writes a value that does not fit while the table is being looked at.
TEST_P(AdoptionByInnodb, LooksAtTheTableUnderALock) {
    make_table();
    insert("1", "once", 1);
    session().run("begin");
    insert("2", "once", 1);
    auto opening = std::async(
        std::launch::async, [&] { return fault_of_opening(url("adopt=locks&time_zone=+09:00")); });
    const auto other = connect();
    EXPECT_TRUE(eventually([&] {
        return !other
                    ->run(
                        "select 1 from information_schema.processlist where info like 'lock "
                        "tables locks%' or info like 'alter table locks%'")
                    .empty();
    }));
    session().run("commit");
    const StoreFault fault = opening.get();
    EXPECT_TRUE(mentions(fault.what(), "some rows have the same lockid; nothing was changed"));
    EXPECT_EQ(session().run("select * from locks").front().size(), 4U);
    session().run("delete from locks where id = '2'");
    // The zone can still be another one: no date was changed.
    LockManager locks{open_store(url("adopt=locks&time_zone=+08:00"))};
    EXPECT_FALSE(locks.try_lock({"Order", "1"}));
}

TEST_P(AdoptionByInnodb, TakesATableOfAnotherEngineAndCharacterSet) {
    make_table();
    session().run("alter table locks engine = MyISAM, convert to character set latin1");
    insert("\u00e4", "held", 1);
    LockManager locks{open_store(url("adopt=locks&time_zone=+09:00"))};
    EXPECT_FALSE(locks.try_lock({"Order", "\u00e4"}));
    EXPECT_TRUE(locks.try_lock({"Order", "a"}));
}

TEST_P(AdoptionByInnodb, SaysWhatDoesNotFit) {
    const auto refused_for = [&](const std::string& reason) -> ::testing::AssertionResult {
        const Rows before = session().run("show create table locks");
        const StoreFault fault = fault_of_opening(url("adopt=locks"));
        if (session().run("show create table locks") != before) {
            return ::testing::AssertionFailure() << "the table was changed";
        }
        if (const auto said = mentions(fault.what(), reason); !said) return said;
        return mentions(fault.what(), "nothing was changed");
    };
    make_table("unique (type, id)");
    EXPECT_TRUE(refused_for("its primary key is (), not (type, id)"));
    session().run("alter table locks add primary key (type, id)");
    insert("1", "once", 1);
    insert("2", "once", 1);
    EXPECT_TRUE(refused_for("some rows have the same lockid"));
    session().run("update locks set lockid = null where id = 2");
    EXPECT_TRUE(refused_for("`lockid` is null in some rows"));
    session().run("update locks set lockid = 'twice', expiration_time = null where id = 2");
    EXPECT_TRUE(refused_for("`expiration_time` has no date in some rows"));
    session().run("delete from locks");
    session().run("alter table locks modify id varchar(600) character set latin1");
    insert(std::string(513, 'x'), "long", 1);
    EXPECT_TRUE(refused_for("`id` has values of more than 512 bytes"));
    session().run("delete from locks");
    session().run("alter table locks modify expiration_time date");
    EXPECT_TRUE(refused_for("`expiration_time` is date, not a datetime or a timestamp"));
    session().run("drop table locks");
    make_table();
    session().run(
        "create table orders (type varchar(50), id varchar(50), constraint of_orders "
        "foreign key (type, id) references locks (type, id))");
    EXPECT_TRUE(refused_for("the foreign key of_orders of table `orders` uses its columns"));
    session().run("drop table orders");
    session().run("create table owners (lockid varchar(50) primary key)");
    session().run(
        "alter table locks add constraint of_locks foreign key (lockid) references "
        "owners (lockid)");
    EXPECT_TRUE(refused_for("the foreign key of_locks of table `locks` uses its columns"));
    session().run("alter table locks drop foreign key of_locks");
    session().run("alter table locks partition by key (type) partitions 2");
    EXPECT_TRUE(refused_for("it is partitioned"));
}

class AdoptionByPostgres : public Adoption {};
INSTANTIATE_TEST_SUITE_P(
    , AdoptionByPostgres,
    ::testing::Values(Adopted{on_postgres(), "timestamp", "timestamp",
                              "(now() at time zone 'UTC') + {hours} * interval '1 hour'"},
                      Adopted{on_postgres(), "timestamptz", "timestamptz",
                              "now() + {hours} * interval '1 hour'"}),
    [](const auto& adopted) { return "postgres_" + adopted.param.name; });

TEST_P(AdoptionByPostgres, SaysWhatDoesNotFit) {
    const auto columns = [&] {
        return session().run(
            "select attname, format_type(atttypid, atttypmod), attnotnull from pg_attribute where "
            "attrelid = 'locks'::regclass and attnum > 0 order by attnum");
    };
    const auto refused_for = [&](const std::string& reason) -> ::testing::AssertionResult {
        const Rows before = columns();
        const StoreFault fault = fault_of_opening(url("adopt=locks"));
        if (columns() != before) return ::testing::AssertionFailure() << "the table was changed";
        if (const auto said = mentions(fault.what(), reason); !said) return said;
        return mentions(fault.what(), "nothing was changed");
    };
    make_table("unique (type, id)");
    EXPECT_TRUE(refused_for("its primary key is (), not (type, id)"));
    session().run("alter table locks add primary key (id, type)");
    EXPECT_TRUE(refused_for("its primary key is (id,type), not (type, id)"));
    session().run("alter table locks drop constraint locks_pkey, add primary key (type, id)");
    insert("1", "once", 1);
    insert("2", "once", 1);
    EXPECT_TRUE(refused_for("some rows have the same lockid"));
    session().run("update locks set lockid = null where id = '2'");
    EXPECT_TRUE(refused_for("`lockid` is null in some rows"));
    session().run("update locks set lockid = 'twice', expiration_time = null where id = '2'");
    EXPECT_TRUE(refused_for("`expiration_time` has no date in some rows"));
    session().run("delete from locks");
    session().run("alter table locks alter id type varchar(600)");
    insert(std::string(513, 'x'), "long", 1);
    EXPECT_TRUE(refused_for("`id` has values of more than 512 bytes"));
    session().run("delete from locks");
    session().run("alter table locks alter id type bigint using 1");
    EXPECT_TRUE(refused_for("`id` is bigint, not a text or a varchar"));
    session().run("alter table locks alter expiration_time type date");
    EXPECT_TRUE(refused_for("`expiration_time` is date, not a timestamp"));
}

TEST_P(OpeningPostgres, RefusesToAdoptNumbersThatAreNoMilliseconds) {
    const auto session = connect();
    session->run(
        "create table locks (type text, id text, lockid text, expiration_time bigint, "
        "primary key (type, id))");
    for (const std::string unit : {"1", "1000000"}) {
        session->run("delete from locks");
        session->run("insert into locks values ('Order', '1', 'x', extract(epoch from now()) * " +
                     unit + ")");
        const Rows before = session->run("select * from locks");
        const StoreFault fault = fault_of_opening(url("adopt=locks"));
        EXPECT_EQ(fault.cause(), Cause::configuration);
        EXPECT_TRUE(mentions(fault.what(), "not in milliseconds since 1970"));
        EXPECT_EQ(session->run("select * from locks"), before);
    }
}

}  // namespace
}  // namespace leasehold::faults
