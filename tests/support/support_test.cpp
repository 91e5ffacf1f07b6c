#include <gtest/gtest.h>
#include <libpq-fe.h>
#include <mysql.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

#include "support/private_server.hpp"
#include "support/process.hpp"
#include "support/tcp_gate.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

template <typename Condition>
bool becomes_true(Condition condition, std::chrono::milliseconds timeout = 60s) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        std::this_thread::sleep_for(5ms);
    }
    return true;
}

int processes_in(const fs::path& folder) {
    int count = 0;
    for (const auto& process : fs::directory_iterator("/proc")) {
        std::error_code not_ours;
        const auto where = fs::read_symlink(process.path() / "cwd", not_ours);
        if (!not_ours && where.string().starts_with(folder.string())) ++count;
    }
    return count;
}

class PostgresSession {
public:
    explicit PostgresSession(const std::string& url)
        : connection_(PQconnectdb(url.c_str()), PQfinish) {
        if (PQstatus(connection_.get()) != CONNECTION_OK) throw std::runtime_error(error());
    }

    // The first value of the answer, or "" if there is none.
    std::string ask(const std::string& sql) {
        send(sql);
        return answer();
    }
    void send(const std::string& sql) {
        if (PQsendQuery(connection_.get(), sql.c_str()) == 0) throw std::runtime_error(error());
    }
    std::string answer() {
        std::string value;
        while (PGresult* next = PQgetResult(connection_.get())) {
            const std::unique_ptr<PGresult, decltype(&PQclear)> result(next, PQclear);
            const auto status = PQresultStatus(next);
            if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
                throw std::runtime_error(error());
            }
            if (PQntuples(next) > 0) value = PQgetvalue(next, 0, 0);
        }
        return value;
    }
    bool hears_something_within(std::chrono::milliseconds time) {
        pollfd event{PQsocket(connection_.get()), POLLIN, 0};
        return ::poll(&event, 1, static_cast<int>(time.count())) > 0;
    }

private:
    std::string error() const { return PQerrorMessage(connection_.get()); }

    std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
};

std::string ask_mariadb(std::uint16_t port, const std::string& sql) {
    const std::unique_ptr<MYSQL, decltype(&mysql_close)> connection(mysql_init(nullptr),
                                                                    mysql_close);
    MYSQL* server = connection.get();
    if (mysql_real_connect(server, "127.0.0.1", "app", "secret", "locks", port, nullptr, 0) ==
            nullptr ||
        mysql_real_query(server, sql.data(), sql.size()) != 0) {
        throw std::runtime_error(mysql_error(server));
    }
    const std::unique_ptr<MYSQL_RES, decltype(&mysql_free_result)> result(
        mysql_store_result(server), mysql_free_result);
    if (!result) return "";
    const MYSQL_ROW row = mysql_fetch_row(result.get());
    return row != nullptr && row[0] != nullptr ? row[0] : "";
}

TEST(ChildProcess, GivesExitCodeAndOutputOfAShortCommand) {
    const auto finished =
        run({.arguments = {"sh", "-c", "echo out; echo err >&2; echo $WORD; pwd; exit 3"},
             .folder = "/",
             .environment = {"WORD=given"}},
            60s);
    EXPECT_EQ(finished.exit_code, 3);
    EXPECT_EQ(finished.output, "out\nerr\ngiven\n/\n");
}

TEST(ChildProcess, SaysWhyAProgramCannotRun) {
    EXPECT_THROW((void)run({.arguments = {"/no/such/program"}}, 10s), std::runtime_error);
    EXPECT_THROW((void)run({.arguments = {"true"}, .folder = "/no/such/folder"}, 10s),
                 std::runtime_error);
}

TEST(ChildProcess, EndsACommandThatTakesTooLong) {
    EXPECT_THROW((void)run({.arguments = {"sleep", "1000"}}, 50ms), std::runtime_error);
}

TEST(ChildProcess, KillsWhatTheProgramLeftBehindInOtherSessions) {
    const TemporaryFolder folder;
    ChildProcess process(
        {.arguments = {"sh", "-c", "setsid sh -c 'sleep 1000 & sleep 1000' & wait"},
         .folder = folder.path()});
    ASSERT_TRUE(becomes_true([&] { return processes_in(folder.path()) == 4; }));
    process.signal(SIGKILL);
    EXPECT_EQ(process.wait(), 128 + SIGKILL);
    EXPECT_EQ(processes_in(folder.path()), 0);
    EXPECT_FALSE(process.running());
}

TEST(ChildProcess, TerminatesPolitelyAndThenHard) {
    const TemporaryFolder folder;
    ChildProcess polite(
        {.arguments = {"sh", "-c",
                       "trap 'exit 7' TERM; mkdir polite; while :; do sleep 0.01; done"},
         .folder = folder.path()});
    ASSERT_TRUE(becomes_true([&] { return fs::exists(folder.path() / "polite"); }));
    EXPECT_EQ(polite.terminate(60s), 7);
    ChildProcess deaf(
        {.arguments = {"sh", "-c", "trap '' TERM; mkdir deaf; while :; do sleep 0.01; done"},
         .folder = folder.path()});
    ASSERT_TRUE(becomes_true([&] { return fs::exists(folder.path() / "deaf"); }));
    EXPECT_EQ(deaf.terminate(50ms), 128 + SIGKILL);
}

TEST(ChildProcess, OutlivesTheThreadThatMadeIt) {
    std::unique_ptr<ChildProcess> process;
    std::thread([&] {
        process = std::make_unique<ChildProcess>(Command{.arguments = {"sleep", "1000"}});
    }).join();
    EXPECT_EQ(process->wait_for(200ms), std::nullopt);
}

TEST(FreePort, IsGivenOnce) {
    std::set<std::uint16_t> ports;
    constexpr std::size_t many = 500;  // of some twenty thousand: some are drawn again
    for (std::size_t i = 0; i < many; ++i) ports.insert(free_port());
    EXPECT_EQ(ports.size(), many);
}

TEST(PrivatePostgres, AcceptsConnectionsAndMakesDatabases) {
    auto& server = shared_postgres();
    EXPECT_EQ(PostgresSession(server.url()).ask("SELECT current_database()"), "locks");
    server.create_database("other \"one\"");
    EXPECT_EQ(PostgresSession(server.url())
                  .ask("SELECT count(*) FROM pg_database WHERE datname = 'other \"one\"'"),
              "1");
    server.create_database("second");
    EXPECT_EQ(PostgresSession(server.url("second")).ask("SELECT current_database()"), "second");
    EXPECT_EQ(PostgresSession(server.url()).ask("SHOW fsync"), "on");
    EXPECT_EQ(PostgresSession(server.url()).ask("SHOW synchronous_commit"), "on");
}

TEST(PrivatePostgres, KeepsItsDataWhenKilledAndStarted) {
    auto& server = shared_postgres();
    PostgresSession before(server.url());
    before.ask("CREATE TABLE kept (n int)");
    for (int round = 1; round <= 3; ++round) {
        PostgresSession(server.url()).ask("INSERT INTO kept VALUES (1)");
        server.kill();
        EXPECT_THROW(PostgresSession{server.url()}, std::runtime_error);
        server.start();
        EXPECT_EQ(PostgresSession(server.url()).ask("SELECT count(*) FROM kept"),
                  std::to_string(round));
    }
    EXPECT_THROW(before.ask("SELECT 1"), std::runtime_error);
}

TEST(PrivatePostgres, StandsStillWhilePaused) {
    auto& server = shared_postgres();
    PostgresSession session(server.url());
    server.pause();
    session.send("SELECT 42");
    EXPECT_FALSE(session.hears_something_within(200ms));
    server.resume();
    EXPECT_EQ(session.answer(), "42");
    server.pause();
    server.kill();
    server.start();
    EXPECT_EQ(PostgresSession(server.url()).ask("SELECT 43"), "43");
}

TEST(PrivatePostgres, TakesSettings) {
    PrivatePostgres server({.settings = {"synchronous_commit=off"}});
    EXPECT_EQ(PostgresSession(server.url()).ask("SHOW synchronous_commit"), "off");
}

TEST(PrivatePostgres, ShowsItsLogWhenItCannotStart) {
    try {
        PrivatePostgres server({.settings = {"no_such_setting=1"}});
        FAIL() << "started";
    } catch (const std::runtime_error& error) {
        EXPECT_NE(std::string(error.what()).find("no_such_setting"), std::string::npos)
            << error.what();
    }
}

TEST(PrivateMariadb, AcceptsConnectionsAndMakesDatabases) {
    auto& server = shared_mariadb();
    EXPECT_EQ(server.url(),
              "mariadb://app:secret@127.0.0.1:" + std::to_string(server.port()) + "/locks");
    EXPECT_EQ(ask_mariadb(server.port(), "SELECT database()"), "locks");
    server.create_database("other `one`");
    EXPECT_EQ(ask_mariadb(server.port(), "SHOW DATABASES LIKE 'other%'"), "other `one`");
    ask_mariadb(server.port(), "CREATE DATABASE by_app");
    EXPECT_EQ(ask_mariadb(server.port(), "SELECT @@innodb_flush_log_at_trx_commit"), "1");
}

TEST(PrivateMariadb, KeepsItsDataWhenKilledAndStarted) {
    auto& server = shared_mariadb();
    ask_mariadb(server.port(), "CREATE TABLE kept (n int)");
    for (int round = 1; round <= 3; ++round) {
        ask_mariadb(server.port(), "INSERT INTO kept VALUES (1)");
        server.kill();
        EXPECT_THROW(ask_mariadb(server.port(), "SELECT 1"), std::runtime_error);
        server.start();
        EXPECT_EQ(ask_mariadb(server.port(), "SELECT count(*) FROM kept"), std::to_string(round));
    }
}

TEST(PrivateMysql, KeepsItsDataWhenKilledAndStarted) {
    if (!PrivateMysql::is_there()) GTEST_SKIP() << "no MySQL, see tests/mysql";
    PrivateMysql server;
    EXPECT_EQ(server.url(),
              "mysql://app:secret@127.0.0.1:" + std::to_string(server.port()) + "/locks");
    EXPECT_EQ(ask_mariadb(server.port(), "SELECT @@innodb_flush_log_at_trx_commit"), "1");
    ask_mariadb(server.port(), "CREATE TABLE kept (n int)");
    ask_mariadb(server.port(), "INSERT INTO kept VALUES (1)");
    server.kill();
    EXPECT_THROW(ask_mariadb(server.port(), "SELECT 1"), std::runtime_error);
    server.start();
    EXPECT_EQ(ask_mariadb(server.port(), "SELECT count(*) FROM kept"), "1");
}

TEST(PrivateMariadb, StandsStillWhilePaused) {
    auto& server = shared_mariadb();
    server.pause();
    std::atomic<bool> answered = false;
    std::thread asking([&] {
        ask_mariadb(server.port(), "SELECT 42");
        answered = true;
    });
    std::this_thread::sleep_for(200ms);
    EXPECT_FALSE(answered);
    server.resume();
    asking.join();
    EXPECT_TRUE(answered);
}

// Nobody removes this shared memory when a test is killed.
void remove_shared_memory_of_postgres_below(const fs::path& folder) {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        if (entry.path().filename() != "postmaster.pid") continue;
        std::ifstream file(entry.path());
        std::string line;
        for (int skipped = 0; skipped < 6; ++skipped) std::getline(file, line);
        unsigned long key = 0;
        int id = -1;
        if (file >> key >> id) ::shmctl(id, IPC_RMID, nullptr);
    }
}

// The state when a test is killed: both servers run, one is paused, and a backend works.
TEST(PrivateServers, AreGoneWhenTheTestIsKilled) {
    const TemporaryFolder folder;
    const pid_t test = ::fork();
    ASSERT_GE(test, 0);
    if (test == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        try {
            ::setenv("TMPDIR", folder.path().c_str(), 1);
            PrivateMariadb mariadb;
            PrivatePostgres postgres;
            PostgresSession session(postgres.url());
            session.send("SELECT pg_sleep(1000)");
            postgres.pause();
            std::ofstream(folder.path() / "ready");
            for (;;) ::pause();
        } catch (const std::exception& error) {
            std::cerr << error.what() << '\n';
            ::_exit(1);
        }
    }
    EXPECT_TRUE(becomes_true(
        [&] {
            return fs::exists(folder.path() / "ready") || ::waitpid(test, nullptr, WNOHANG) != 0;
        },
        300s));
    ASSERT_GE(processes_in(folder.path()), 5);
    ASSERT_EQ(::kill(test, SIGKILL), 0);
    ::waitpid(test, nullptr, 0);
    EXPECT_TRUE(becomes_true([&] { return processes_in(folder.path()) == 0; }));
    remove_shared_memory_of_postgres_below(folder.path());
}

class TcpGateTest : public ::testing::Test {
protected:
    TcpGateTest() { direct_.ask("DROP TABLE IF EXISTS written; CREATE TABLE written (n int)"); }

    std::string url() const { return server_.url("locks", gate_.port()); }
    bool is_written() { return direct_.ask("SELECT count(*) FROM written") != "0"; }
    std::size_t bytes_of(const std::string& sql) {
        PostgresSession session(url());
        const auto before = gate_.client_bytes();
        session.ask(sql);
        return gate_.client_bytes() - before;
    }

    PrivatePostgres& server_ = shared_postgres();
    TcpGate gate_{"127.0.0.1", server_.port()};
    PostgresSession direct_{server_.url()};
    const std::string insert_ = "INSERT INTO written VALUES (1)";
};

TEST_F(TcpGateTest, ForwardsInBothDirectionsAndCounts) {
    const std::string large(1'000'000, 'x');
    PostgresSession first(url());
    PostgresSession second(url());
    EXPECT_EQ(first.ask("SELECT '" + large + "'"), large);
    EXPECT_EQ(second.ask("SELECT 1"), "1");
    EXPECT_EQ(gate_.connections(), 2U);
    EXPECT_GT(gate_.client_bytes(), large.size());
    EXPECT_EQ(gate_.cuts(), 0U);
}

TEST_F(TcpGateTest, CutsEveryConnectionAndLetsNewOnesIn) {
    PostgresSession first(url());
    PostgresSession second(url());
    gate_.cut();
    EXPECT_THROW(first.ask("SELECT 1"), std::runtime_error);
    EXPECT_THROW(second.ask("SELECT 1"), std::runtime_error);
    EXPECT_EQ(PostgresSession(url()).ask("SELECT 1"), "1");
    EXPECT_EQ(gate_.cuts(), 2U);
}

TEST_F(TcpGateTest, RefusesNewConnectionsAndKeepsOpenOnes) {
    PostgresSession before(url());
    for (int round = 0; round < 3; ++round) {
        gate_.refuse();
        try {
            PostgresSession refused(url());
            ADD_FAILURE() << "connected";
        } catch (const std::runtime_error& error) {
            EXPECT_NE(std::string(error.what()).find("refused"), std::string::npos) << error.what();
        }
        EXPECT_EQ(before.ask("SELECT 1"), "1");
        gate_.accept();
        EXPECT_EQ(PostgresSession(url()).ask("SELECT 2"), "2");
    }
}

TEST_F(TcpGateTest, HoldsBothDirectionsUntilLetGo) {
    PostgresSession session(url());
    const auto before = gate_.client_bytes();
    gate_.hold();
    session.send(insert_);
    EXPECT_FALSE(session.hears_something_within(200ms));
    EXPECT_EQ(gate_.client_bytes(), before);
    EXPECT_FALSE(is_written());
    gate_.pass_everything();
    session.answer();
    EXPECT_TRUE(is_written());
}

TEST_F(TcpGateTest, HoldsAnswersWhileTheServerActs) {
    PostgresSession session(url());
    gate_.hold_answers();
    session.send(insert_);
    EXPECT_TRUE(becomes_true([&] { return is_written(); }));
    EXPECT_FALSE(session.hears_something_within(200ms));
    gate_.pass_everything();
    session.answer();
}

TEST_F(TcpGateTest, HoldsRequestsAndBringsThemLate) {
    {
        PostgresSession session(url());
        gate_.hold_requests();
        session.send(insert_);
        EXPECT_FALSE(session.hears_something_within(200ms));
        EXPECT_FALSE(is_written());
    }
    gate_.pass_everything();
    EXPECT_TRUE(becomes_true([&] { return is_written(); }));
}

TEST_F(TcpGateTest, DelaysWhatPassesUnderBadConditions) {
    PostgresSession session(url());
    gate_.set_conditions({.delay_from = 60ms, .delay_to = 80ms});
    const auto sent = std::chrono::steady_clock::now();
    session.send(insert_);
    session.answer();
    EXPECT_GE(std::chrono::steady_clock::now() - sent, 120ms);
    EXPECT_TRUE(is_written());
    gate_.set_conditions({.loss = 1});
    const auto lost = std::chrono::steady_clock::now();
    session.send("SELECT 1");
    session.answer();
    EXPECT_GE(std::chrono::steady_clock::now() - lost, 400ms);
}

TEST_F(TcpGateTest, LeadsNewConnectionsElsewhereAndKeepsOpenOnes) {
    PostgresSession session(url());
    TcpGate other("127.0.0.1", shared_postgres().port());
    gate_.redirect(other.port());
    EXPECT_EQ(other.connections(), 0U);
    PostgresSession led(url());
    EXPECT_EQ(other.connections(), 1U);
    session.send(insert_);
    session.answer();
}

TEST_F(TcpGateTest, CutsBeforeTheAnswerOnce) {
    PostgresSession session(url());
    gate_.cut_before_answer();
    EXPECT_THROW(session.ask(insert_), std::runtime_error);
    EXPECT_TRUE(is_written());
    EXPECT_EQ(gate_.cuts(), 1U);
    EXPECT_EQ(PostgresSession(url()).ask("SELECT 1"), "1");
}

TEST_F(TcpGateTest, CutsBeforeALaterAnswer) {
    PostgresSession session(url());
    gate_.cut_before_answer(2);
    session.ask("BEGIN");
    session.ask(insert_);
    EXPECT_THROW(session.ask("COMMIT"), std::runtime_error);
    EXPECT_TRUE(is_written());
}

TEST_F(TcpGateTest, LettingGoCallsOffACut) {
    PostgresSession session(url());
    gate_.cut_before_answer();
    gate_.cut_after_client_bytes(0);
    gate_.pass_everything();
    EXPECT_EQ(session.ask("SELECT 1"), "1");
}

TEST_F(TcpGateTest, CutsAfterEveryByteOfAStatement) {
    const auto size = bytes_of("INSERT INTO written VALUES (2)");
    ASSERT_EQ(size, insert_.size() + 6);
    direct_.ask("DELETE FROM written");
    for (std::size_t n = 0; n < size; ++n) {
        PostgresSession session(url());
        const auto before = gate_.client_bytes();
        gate_.cut_after_client_bytes(n);
        EXPECT_THROW(session.ask(insert_), std::runtime_error);
        EXPECT_EQ(gate_.client_bytes(), before + n);
        EXPECT_EQ(gate_.cuts(), n + 1);
    }
    EXPECT_FALSE(is_written());
    PostgresSession session(url());
    gate_.cut_after_client_bytes(size);
    EXPECT_THROW(session.ask(insert_), std::runtime_error);
    EXPECT_TRUE(becomes_true([&] { return is_written(); }));
}

TEST_F(TcpGateTest, BreaksConnectionsWhenTheServerIsKilled) {
    PostgresSession session(url());
    server_.kill();
    EXPECT_THROW(session.ask("SELECT 1"), std::runtime_error);
    EXPECT_THROW(PostgresSession{url()}, std::runtime_error);
    server_.start();
    EXPECT_EQ(PostgresSession(url()).ask("SELECT 1"), "1");
}

}  // namespace
}  // namespace leasehold::testing
