#include <algorithm>
#include <csignal>
#include <fstream>
#include <set>

#include "command/host.hpp"
#include "command/serving.hpp"
#include "faults/databases.hpp"
#include "support/tcp_gate.hpp"

// Two hosts contend for one lock, and whatever happens to the first, its command and everything
// that command started is dead before the second's begins.
namespace leasehold::command {
namespace {

using namespace std::chrono_literals;
using faults::eventually;

constexpr auto patience = 120s;

// What the commands of all hosts wrote, in the order they wrote it.
class Chronicle {
public:
    [[nodiscard]] std::string path() const { return (folder_.path() / "chronicle").string(); }

    [[nodiscard]] std::vector<std::int64_t> fences() const {
        std::ifstream file{path()};
        std::vector<std::int64_t> all;
        // Of a line that is just being written only a part may be there.
        for (std::string line; std::getline(file, line) && !file.eof();) {
            all.push_back(std::stoll(line));
        }
        return all;
    }
    // Waits until this many commands have written a good deal.
    [[nodiscard]] bool has_writers(std::size_t count) const {
        return eventually(
            [&] {
                const auto all = fences();
                const std::set<std::int64_t> writers{all.begin(), all.end()};
                return writers.size() == count && std::ranges::count(all, *writers.rbegin()) > 100;
            },
            patience);
    }
    // Fences grow with every grant: if one ever follows a greater one, two ran at once.
    void expect_one_at_a_time() const {
        const auto all = fences();
        EXPECT_TRUE(std::ranges::is_sorted(all)) << "of " << all.size();
    }

private:
    testing::TemporaryFolder folder_;
};

std::vector<std::string> scribe(const Chronicle& chronicle) {
    return {"run",           "--ttl", "6s", "--wait", "180s", "job", "--", LEASEHOLD_SCRIBE,
            chronicle.path()};
}

bool ends_with(const Host& host, int code) {
    return eventually([&] { return host.exit_code() == code; }, patience);
}

class RunOnAnyStore : public faults::DatabaseTest {
protected:
    // One that writes, and one that waits for its turn.
    void start_two() {
        first_.emplace(scribe(chronicle_), url());
        ASSERT_TRUE(chronicle_.has_writers(1)) << first_->output();
        second_.emplace(scribe(chronicle_), url());
    }
    void expect_the_second_to_follow() {
        ASSERT_TRUE(chronicle_.has_writers(2)) << first_->output() << second_->output();
        chronicle_.expect_one_at_a_time();
    }

    Chronicle chronicle_;
    std::optional<Host> first_;
    std::optional<Host> second_;
};
INSTANTIATE_TEST_SUITE_P(, RunOnAnyStore, ::testing::ValuesIn(faults::every_database()),
                         faults::by_store());

TEST_P(RunOnAnyStore, EndsItsCommandInTimeWhileItIsStoppedItself) {
    start_two();
    first_->signal(SIGSTOP);
    expect_the_second_to_follow();
    first_->signal(SIGCONT);
    EXPECT_TRUE(ends_with(*first_, 121)) << first_->output();
    chronicle_.expect_one_at_a_time();
}

TEST_P(RunOnAnyStore, LeavesNothingRunningWhenItIsKilled) {
    start_two();
    first_->signal(SIGKILL);
    expect_the_second_to_follow();
}

TEST_P(RunOnAnyStore, LeavesNothingRunningWhenItsSupervisorIsKilled) {
    start_two();
    const auto supervisors = children_of(first_->pid());
    ASSERT_EQ(supervisors.size(), 1U);
    ::kill(supervisors.front(), SIGKILL);
    expect_the_second_to_follow();
    EXPECT_TRUE(ends_with(*first_, 128 + SIGKILL)) << first_->output();
}

TEST_P(RunOnAnyStore, PassesTheLockOnWhenItIsTerminated) {
    first_.emplace(std::vector<std::string>{"run", "--ttl", "60s", "job", "--", "sleep", "1000"},
                   url());
    ASSERT_TRUE(eventually([&] {
        return leasehold({"who", "job", "--store", url()}).output.find("sleep") !=
               std::string::npos;
    }));
    second_.emplace(scribe(chronicle_), url());
    first_->signal(SIGTERM);
    EXPECT_TRUE(ends_with(*first_, 128 + SIGTERM)) << first_->output();
    EXPECT_TRUE(chronicle_.has_writers(1)) << second_->output();
}

TEST_P(RunOnAnyStore, StopsTheCommandWhenTheLeaseIsBroken) {
    Host host{scribe(chronicle_), url()};
    ASSERT_TRUE(chronicle_.has_writers(1)) << host.output();
    const auto broken =
        leasehold({"break", "job", "--fence", std::to_string(chronicle_.fences().front()),
                   "--reason", "maintenance", "--by", "admin", "--store", url()});
    ASSERT_EQ(broken.exit_code, 0) << broken.output;
    EXPECT_TRUE(ends_with(host, 121));
    EXPECT_NE(host.output().find("broken by admin: maintenance"), std::string::npos)
        << host.output();
}

TEST_P(RunOnAnyStore, RunsOneOfManyAtATime) {
    // Every command reads the count, and writes it back increased by one.
    const testing::TemporaryFolder folder;
    const std::string count = (folder.path() / "count").string();
    std::ofstream{count} << "0\n";
    constexpr int hosts = 6;
    std::vector<std::unique_ptr<Host>> all;
    for (int i = 0; i < hosts; ++i) {
        all.push_back(std::make_unique<Host>(
            std::vector<std::string>{"run", "--wait", "180s", "count", "--", "sh", "-c",
                                     "read n < $0; sleep 0.05; echo $((n + 1)) > $0", count},
            url()));
    }
    for (const auto& host : all) EXPECT_TRUE(ends_with(*host, 0)) << host->output();
    EXPECT_EQ(content_of(count), std::to_string(hosts) + "\n");
}

class RunOnAServer : public faults::ServerTest {
protected:
    Chronicle chronicle_;
};
INSTANTIATE_TEST_SUITE_P(, RunOnAServer, ::testing::ValuesIn(faults::every_server()),
                         faults::by_store());

TEST_P(RunOnAServer, EndsItsCommandInTimeWhenTheConnectionIsCut) {
    testing::TcpGate gate{"127.0.0.1", database().port()};
    Host first{scribe(chronicle_), database().url(name(), gate.port())};
    ASSERT_TRUE(chronicle_.has_writers(1)) << first.output();
    Host second{scribe(chronicle_), url()};
    gate.refuse();
    gate.cut();
    ASSERT_TRUE(chronicle_.has_writers(2)) << first.output() << second.output();
    EXPECT_TRUE(ends_with(first, 121)) << first.output();
    chronicle_.expect_one_at_a_time();
}

TEST_P(RunOnAServer, EndsItsCommandInTimeWhenTheStoreNoLongerAnswers) {
    testing::TcpGate gate{"127.0.0.1", database().port()};
    Host first{scribe(chronicle_), database().url(name(), gate.port())};
    ASSERT_TRUE(chronicle_.has_writers(1)) << first.output();
    Host second{scribe(chronicle_), url()};
    gate.hold();
    ASSERT_TRUE(chronicle_.has_writers(2)) << first.output() << second.output();
    EXPECT_TRUE(ends_with(first, 121)) << first.output();
    chronicle_.expect_one_at_a_time();
}

TEST_P(RunOnAServer, EndsItsCommandEvenIfItsSupervisorIsStopped) {
    testing::TcpGate gate{"127.0.0.1", database().port()};
    Host first{scribe(chronicle_), database().url(name(), gate.port())};
    ASSERT_TRUE(chronicle_.has_writers(1)) << first.output();
    const auto supervisors = children_of(first.pid());
    ASSERT_EQ(supervisors.size(), 1U);
    Host second{scribe(chronicle_), url()};
    ::kill(supervisors.front(), SIGSTOP);
    gate.hold();
    ASSERT_TRUE(chronicle_.has_writers(2)) << first.output() << second.output();
    EXPECT_TRUE(ends_with(first, 121)) << first.output();
    chronicle_.expect_one_at_a_time();
}

TEST_P(RunOnAServer, GoesOnThroughAShortOutage) {
    testing::TcpGate gate{"127.0.0.1", database().port()};
    Host host{{"run", "--ttl", "10s", "job", "--", LEASEHOLD_SCRIBE, chronicle_.path()},
              database().url(name(), gate.port())};
    ASSERT_TRUE(chronicle_.has_writers(1)) << host.output();
    const std::size_t connections = gate.connections();
    gate.cut();
    // It connects again for the next renewal.
    ASSERT_TRUE(eventually([&] { return gate.connections() > connections; }));
    const std::size_t written = chronicle_.fences().size();
    EXPECT_TRUE(eventually([&] { return chronicle_.fences().size() > written + 100; }));
    EXPECT_FALSE(host.exit_code()) << host.output();
}

class RunOnAKilledServer : public ::testing::TestWithParam<faults::On<faults::Server>> {};
INSTANTIATE_TEST_SUITE_P(, RunOnAKilledServer, ::testing::ValuesIn(faults::every_server()),
                         faults::by_store());

TEST_P(RunOnAKilledServer, EndsItsCommandAndLetsTheNextOneRunWhenTheServerIsBack) {
    const auto server = GetParam().make({});
    const std::string url = server->url(server->make());
    const Chronicle chronicle;
    Host first{scribe(chronicle), url};
    ASSERT_TRUE(chronicle.has_writers(1)) << first.output();
    Host second{scribe(chronicle), url};
    server->kill();
    EXPECT_TRUE(ends_with(first, 121)) << first.output();
    server->start();
    ASSERT_TRUE(chronicle.has_writers(2)) << second.output();
    chronicle.expect_one_at_a_time();
}

// The second process waits in a server's line when the fault happens.
class RunInAServersLine : public ::testing::Test {
protected:
    // One that writes, and one that waits for its turn.
    void start_two(const std::string& url_of_the_second) {
        first_.emplace(scribe(chronicle_), server_->url());
        ASSERT_TRUE(chronicle_.has_writers(1)) << first_->output();
        second_.emplace(scribe(chronicle_), url_of_the_second);
        ASSERT_TRUE(come_to_wait(1)) << second_->output();
    }
    [[nodiscard]] bool come_to_wait(std::size_t count) const {
        return eventually([&] { return look().at("waiting").as_array().size() == count; });
    }
    [[nodiscard]] std::int64_t fence() const {
        const auto holders = look().at("holders").as_array();
        return holders.empty() ? 0 : holders.front().at("fence").as_int64();
    }
    [[nodiscard]] bool has_another_holder_than(std::int64_t fence_before) const {
        return eventually([&] { return fence() != 0 && fence() != fence_before; });
    }

    const testing::TemporaryFolder folder_;
    const std::string store_ = "sqlite:" + (folder_.path() / "locks.db").string();
    std::optional<Serving> server_{std::in_place, store_};
    Chronicle chronicle_;
    std::optional<Host> first_;
    std::optional<Host> second_;

private:
    [[nodiscard]] boost::json::value look() const {
        return server_->connect().ask("GET", "/v1/locks/dist_lock/job").json();
    }
};

TEST_F(RunInAServersLine, AProcessThatWasPausedAtItsTurnRunsNothingUntilItsNext) {
    start_two(server_->url());
    Host third{scribe(chronicle_), server_->url()};
    ASSERT_TRUE(come_to_wait(2)) << third.output();
    second_->signal(SIGSTOP);
    first_->signal(SIGKILL);
    ASSERT_TRUE(chronicle_.has_writers(2)) << third.output();
    second_->signal(SIGCONT);
    ASSERT_TRUE(come_to_wait(1)) << second_->output();
    third.signal(SIGKILL);
    ASSERT_TRUE(chronicle_.has_writers(3)) << second_->output();
    chronicle_.expect_one_at_a_time();
}

TEST_F(RunInAServersLine, WhoseConnectionIsCutBetweenTheGrantAndItsAnswerRunsWithThatGrant) {
    testing::TcpGate gate{"127.0.0.1", server_->port()};
    start_two("http://127.0.0.1:" + std::to_string(gate.port()));
    const std::int64_t before = fence();
    gate.hold_answers();
    first_->signal(SIGKILL);
    ASSERT_TRUE(has_another_holder_than(before));
    gate.cut();
    gate.pass_everything();
    ASSERT_TRUE(chronicle_.has_writers(2)) << second_->output();
    chronicle_.expect_one_at_a_time();
}

TEST_F(RunInAServersLine, AServerThatIsKilledEndsTheFirstAndTheNextOneRunsWhenItIsBack) {
    start_two(server_->url());
    const std::string port = std::to_string(server_->port());
    server_->kill();
    EXPECT_TRUE(ends_with(*first_, 121)) << first_->output();
    server_.reset();
    server_.emplace(store_, std::vector<std::string>{"--port", port});
    ASSERT_TRUE(chronicle_.has_writers(2)) << second_->output();
    chronicle_.expect_one_at_a_time();
}

}  // namespace
}  // namespace leasehold::command
