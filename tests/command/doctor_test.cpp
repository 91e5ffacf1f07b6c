#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <fstream>

#include "command/host.hpp"
#include "command/serving.hpp"
#include "faults/databases.hpp"
#include "support/private_etcd.hpp"
#include "unit/waiting.hpp"

// What `leasehold doctor` finds, and what it leaves behind.
namespace leasehold::command {
namespace {

class Doctor : public ::testing::Test {
protected:
    [[nodiscard]] std::string path(const char* name) const {
        return (folder_.path() / name).string();
    }
    [[nodiscard]] std::string file() const { return path("locks.db"); }
    [[nodiscard]] std::string store() const { return "sqlite:" + file(); }

    void execute(const char* sql) const {
        sqlite3* db = nullptr;
        EXPECT_EQ(sqlite3_open(file().c_str(), &db), SQLITE_OK);
        EXPECT_EQ(sqlite3_exec(db, sql, nullptr, nullptr, nullptr), SQLITE_OK)
            << sqlite3_errmsg(db);
        sqlite3_close(db);
    }

private:
    testing::TemporaryFolder folder_;
};

TEST_F(Doctor, FindsATableThatIsMissing) {
    EXPECT_TRUE(contains(leasehold({"doctor", "--store", store()}).output,
                         "ok       schema       all tables are there"));
    execute("drop table lock_shares");
    const auto ill = leasehold({"doctor", "--store", store()});
    EXPECT_EQ(ill.exit_code, 1) << ill.output;
    EXPECT_TRUE(contains(ill.output, "problem  schema")) << ill.output;
    EXPECT_TRUE(contains(ill.output, "lock_shares")) << ill.output;
}

TEST_F(Doctor, SaysNothingOfTablesToAStoreThatHasNone) {
    const auto memory = leasehold({"doctor", "--store", "memory:"});
    EXPECT_EQ(memory.exit_code, 0) << memory.output;
    EXPECT_FALSE(contains(memory.output, "schema")) << memory.output;
    const Serving server{store()};
    const auto http = leasehold({"doctor", "--store", server.url()});
    EXPECT_EQ(http.exit_code, 0) << http.output;
    EXPECT_TRUE(contains(http.output, "ok       permissions")) << http.output;
    EXPECT_FALSE(contains(http.output, "schema")) << http.output;
}

TEST_F(Doctor, LeavesNothingInTheHistory) {
    EXPECT_TRUE(contains(leasehold({"doctor", "--store", store()}).output, "ok       permissions"));
    EXPECT_EQ(leasehold({"history", "--store", store()}).output, "no lease has ended\n");
    const Serving server{store()};
    EXPECT_TRUE(
        contains(leasehold({"doctor", "--store", server.url()}).output, "ok       permissions"));
    EXPECT_EQ(leasehold({"history", "--store", server.url()}).output, "no lease has ended\n");
    EXPECT_EQ(leasehold({"ls", "--store", server.url()}).output, "nothing is locked\n");
}

TEST_F(Doctor, ReadsTheClockWithATokenThatMayOnlyTakeLocks) {
    const auto made = leasehold(
        {"token", "taker", "--roles", "use", "--owner", "*", "--token-file", path("taker")});
    ASSERT_EQ(made.exit_code, 0) << made.output;
    const std::string tokens = path("tokens.toml");
    std::ofstream{tokens} << made.output;
    ASSERT_EQ(::chmod(tokens.c_str(), 0600), 0);
    const Serving server{store(), {"--tokens", tokens}};
    const auto seen =
        leasehold({"doctor", "--store", server.url()}, {"LEASEHOLD_TOKEN_FILE=" + path("taker")});
    EXPECT_EQ(seen.exit_code, 0) << seen.output;
    EXPECT_TRUE(contains(seen.output, "ok       clock")) << seen.output;
    EXPECT_TRUE(contains(seen.output, "ok       permissions")) << seen.output;
    EXPECT_TRUE(contains(seen.output, "warning  history")) << seen.output;
    EXPECT_EQ(leasehold({"history", "--store", store()}).output, "no lease has ended\n");
}

TEST_F(Doctor, ShowsTheAlarmsOfEtcd) {
    const testing::PrivateEtcd etcd;
    EXPECT_TRUE(contains(leasehold({"doctor", "--store", etcd.url()}).output,
                         "ok       schema       all keys are there"));
    const Serving server{etcd.url()};
    EXPECT_FALSE(contains(leasehold({"doctor", "--store", server.url()}).output, "alarm"));
    (void)testing::ask_http(etcd.port(), "/v3/maintenance/alarm",
                            R"({"action":"ACTIVATE","memberID":"0","alarm":"NOSPACE"})");
    // The server reads etcd's alarms again every few seconds while it is asked.
    std::string through_server;
    EXPECT_TRUE(testing::eventually([&] {
        through_server = leasehold({"doctor", "--store", server.url()}).output;
        return contains(through_server, "warning  store        etcd has raised an alarm");
    })) << through_server;
    // Opening the store writes, which etcd refuses now.
    const auto direct = leasehold({"doctor", "--store", etcd.url()});
    EXPECT_EQ(direct.exit_code, 1);
    EXPECT_TRUE(contains(direct.output, "space exceeded")) << direct.output;
    EXPECT_TRUE(contains(direct.output, "etcdctl alarm list")) << direct.output;
}

class DoctorOfAServer : public faults::ServerTest {};
INSTANTIATE_TEST_SUITE_P(, DoctorOfAServer,
                         ::testing::Values(faults::on_mysql(), faults::on_mariadb()),
                         faults::by_store());

// A program that writes the dates of a zone nine hours ahead makes locks that end nine hours later
// than it means.
TEST_P(DoctorOfAServer, WarnsOfLocksThatLookHoursLong) {
    const std::vector<std::string> call{"doctor", "--store", url()};
    const auto program = connect();
    {
        LockManager locks{open_store(url())};  // a lock of nobody that is Leasehold's own
        ASSERT_TRUE(locks.try_lock({"Order", "0"}, {.ttl = std::chrono::hours{1}}));
    }
    program->run(
        "insert into locks (type, id, lockid, expiration_time, owner, touched_at) select 'A', "
        "uuid(), uuid(), utc_timestamp() + interval 1 hour, 'alice', 1 from "
        "information_schema.columns limit 1100");
    EXPECT_FALSE(contains(leasehold(call).output, "zone"));
    const auto insert = [&](const std::string& id, const std::string& minutes) {
        program->run("insert into locks values ('Order', '" + id + "', 'program-" + id +
                     "', utc_timestamp() + interval " + minutes + " minute)");
    };
    insert("1", "5");
    EXPECT_FALSE(contains(leasehold(call).output, "zone"));
    insert("2", "545");
    const auto ill = leasehold(call);
    EXPECT_EQ(ill.exit_code, 0) << ill.output;
    EXPECT_TRUE(contains(ill.output,
                         "warning  store        the lock Order/2 of another program ends in 9 "
                         "hours: if that program means less, it writes times of a zone further "
                         "east"))
        << ill.output;
}

// A program that writes the dates of a zone five hours behind makes locks that nobody respects.
TEST_P(DoctorOfAServer, WarnsOfLocksThatEndedHoursAgo) {
    const std::vector<std::string> call{"doctor", "--store", url()};
    EXPECT_FALSE(contains(leasehold(call).output, "zone"));
    connect()->run(
        "insert into locks values ('Order', '1', 'program-1', utc_timestamp() - interval 295 "
        "minute)");
    const auto ill = leasehold(call);
    EXPECT_EQ(ill.exit_code, 0) << ill.output;
    EXPECT_TRUE(contains(ill.output, "warning  store        the lock Order/1 of another program"))
        << ill.output;
    EXPECT_TRUE(contains(ill.output, "a zone west of the store's")) << ill.output;
}

}  // namespace
}  // namespace leasehold::command
