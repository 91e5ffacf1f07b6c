#include <gtest/gtest.h>

#include <csignal>
#include <fstream>

#include <leasehold/leasehold.hpp>

#include "command/host.hpp"
#include "faults/databases.hpp"

namespace leasehold::command {
namespace {

using namespace std::chrono_literals;
using faults::eventually;

class Run : public ::testing::Test {
protected:
    testing::Finished run(const std::vector<std::string>& options,
                          const std::vector<std::string>& command,
                          std::vector<std::string> environment = {}) const {
        environment.push_back("LEASEHOLD_STORE=" + store_);
        return leasehold(arguments(options, command), environment);
    }
    testing::ChildProcess start(const std::vector<std::string>& options,
                                const std::vector<std::string>& command) const {
        auto all = arguments(options, command);
        all.insert(all.begin(), LEASEHOLD_COMMAND);
        return testing::ChildProcess{
            {.arguments = all, .environment = {"LEASEHOLD_STORE=" + store_}, .log = file("log")}};
    }
    bool is_held() const { return !locks_.holders({"dist_lock", "job"}).empty(); }
    bool becomes(const std::string& name, const std::string& content) const {
        return eventually([&] { return content_of(file(name)) == content; });
    }
    std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
    const std::string& store() const { return store_; }

private:
    static std::vector<std::string> arguments(const std::vector<std::string>& options,
                                              const std::vector<std::string>& command) {
        std::vector<std::string> all{"run"};
        all.insert(all.end(), options.begin(), options.end());
        all.insert(all.end(), {"job", "--"});
        all.insert(all.end(), command.begin(), command.end());
        return all;
    }

    testing::TemporaryFolder folder_;
    std::string store_ = "sqlite:" + file("locks.db");
    mutable LockManager locks_{open_store(store_)};
};

TEST_F(Run, EndsAsItsCommandDoes) {
    EXPECT_EQ(run({}, {"true"}).exit_code, 0);
    EXPECT_EQ(run({}, {"sh", "-c", "exit 7"}).exit_code, 7);
    EXPECT_EQ(run({}, {"sh", "-c", "kill -9 $$"}).exit_code, 128 + SIGKILL);
    EXPECT_FALSE(is_held());
}

TEST_F(Run, EndsAsAShellWouldWhereThereIsNoSuchCommand) {
    EXPECT_EQ(run({}, {"/no/such/command"}).exit_code, 127);
    EXPECT_EQ(run({}, {"/"}).exit_code, 126);
    EXPECT_FALSE(is_held());
}

TEST_F(Run, LeavesTheArgumentsOfItsCommandAlone) {
    const auto finished =
        run({}, {"printf", "%s\\n", "--ttl", "--", "", "a b", "--help", "-q", "*"});
    EXPECT_EQ(finished.output, "--ttl\n--\n\na b\n--help\n-q\n*\n");
}

TEST_F(Run, TellsItsCommandTheKeyAndTheFenceButNotTheSecret) {
    const auto finished = run({}, {"sh", "-c", "echo $LEASEHOLD_TYPE $LEASEHOLD_ID; env"},
                              {"LEASEHOLD_LOCK_ID=00000000-0000-4000-8000-000000000001"});
    EXPECT_TRUE(finished.output.starts_with("dist_lock job\n")) << finished.output;
    EXPECT_TRUE(contains(finished.output, "LEASEHOLD_FENCE=1")) << finished.output;
    EXPECT_FALSE(contains(finished.output, "LEASEHOLD_LOCK_ID")) << finished.output;
}

TEST_F(Run, GivesTheSecretWhereItIsAskedTo) {
    const auto finished =
        run({"--pass-lock-id", "--pass-store"}, {LEASEHOLD_COMMAND, "check", "job"});
    EXPECT_EQ(finished.exit_code, 0) << finished.output;
}

TEST_F(Run, RefusesWhileSomebodyElseRuns) {
    auto first = start({}, {"sleep", "1000"});
    ASSERT_TRUE(eventually([&] { return is_held(); }));
    const auto second = run({}, {"touch", file("ran")});
    EXPECT_EQ(second.exit_code, 120);
    EXPECT_TRUE(contains(second.output, "is held by")) << second.output;
    EXPECT_TRUE(contains(second.output, "(sleep)")) << second.output;
    EXPECT_EQ(run({"--quiet"}, {"true"}).output, "");
    EXPECT_FALSE(std::filesystem::exists(file("ran")));
}

TEST_F(Run, IsNeverTheSameOwnerTwice) {
    auto first = start({"--owner", "alice"}, {"sleep", "1000"});
    ASSERT_TRUE(eventually([&] { return is_held(); }));
    EXPECT_EQ(run({"--owner", "alice"}, {"true"}).exit_code, 120);
}

TEST_F(Run, SharesALockWithOtherSharers) {
    auto first = start({"--shared"}, {"sleep", "1000"});
    ASSERT_TRUE(eventually([&] { return is_held(); }));
    EXPECT_EQ(run({"--shared"}, {"true"}).exit_code, 0);
    EXPECT_EQ(run({}, {"true"}).exit_code, 120);
}

TEST_F(Run, TakesOneOfAFewPlaces) {
    auto first = start({"--places", "2"}, {"sleep", "1000"});
    ASSERT_TRUE(eventually([&] { return is_held(); }));
    EXPECT_EQ(run({"--places", "2"}, {"true"}).exit_code, 0);
    EXPECT_EQ(run({"--places", "1"}, {"true"}).exit_code, 120);
    EXPECT_EQ(run({}, {"true"}).exit_code, 120);
}

TEST_F(Run, WaitsForItsTurn) {
    auto first = start({}, {"sh", "-c", "until [ -e \"$0\" ]; do sleep 0.01; done", file("go")});
    ASSERT_TRUE(eventually([&] { return is_held(); }));
    auto second = start({"--wait", "60s"}, {"sh", "-c", "echo done > \"$0\"", file("second")});
    std::ofstream{file("go")};
    EXPECT_EQ(second.wait(), 0);
    EXPECT_EQ(content_of(file("second")), "done\n");
}

TEST_F(Run, StopsWaitingWhenItIsToldTo) {
    auto first = start({}, {"sleep", "1000"});
    ASSERT_TRUE(eventually([&] { return is_held(); }));
    auto second = start({"--wait", "60s"}, {"true"});
    second.signal(SIGTERM);
    EXPECT_EQ(second.wait(), 128 + SIGTERM);
}

TEST_F(Run, HoldsTheLockMuchLongerThanItsTtl) {
    auto first = start({"--ttl", "4s"}, {"sleep", "9"});
    ASSERT_TRUE(eventually([&] { return is_held(); }));
    EXPECT_EQ(first.wait(), 0) << content_of(file("log"));
}

TEST_F(Run, KeepsTheLockAtLeastForTheTimeItWasTold) {
    auto first = start({"--at-least-for", "60s"}, {"sh", "-c", "echo done > $0", file("done")});
    ASSERT_TRUE(becomes("done", "done\n"));
    EXPECT_EQ(run({}, {"true"}).exit_code, 120);
    // Told to go, it leaves the rest of the time to the lease.
    ASSERT_TRUE(eventually([&] {
        return children_of(first.pid()).empty() ||
               children_of(children_of(first.pid()).front()).empty();
    }));
    first.signal(SIGTERM);
    EXPECT_EQ(first.wait(), 0);
    EXPECT_TRUE(is_held());
}

TEST_F(Run, LeavesTheLockToItsTimeWhenItIsToldToEndBeforeItsCommandHas) {
    auto process =
        start({"--at-least-for", "10m"},
              {"sh", "-c", "trap 'exit 3' TERM; echo ready > $0; while :; do sleep 0.01; done",
               file("ready")});
    ASSERT_TRUE(becomes("ready", "ready\n")) << content_of(file("log"));
    process.signal(SIGTERM);
    EXPECT_EQ(process.wait_for(60s), 3) << content_of(file("log"));
    EXPECT_TRUE(is_held());
}

TEST_F(Run, ForwardsSignalsToTheWholeProcessGroup) {
    const std::string inner =
        "trap 'echo inner >> $0; exit' HUP INT QUIT TERM USR1 USR2; echo ready > $0.ready; "
        "while :; do sleep 0.01; done";
    const std::string outer =
        "trap 'echo outer >> $0; exit 3' HUP INT QUIT TERM USR1 USR2; sh -c \"$1\" $0; exit 4";
    for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2}) {
        const std::string name = "signal-" + std::to_string(number);
        auto process = start({}, {"sh", "-c", outer, file(name), inner});
        ASSERT_TRUE(becomes(name + ".ready", "ready\n")) << content_of(file("log"));
        process.signal(number);
        EXPECT_EQ(process.wait(), 3) << number;
        EXPECT_EQ(content_of(file(name)), "inner\nouter\n") << number;
    }
}

TEST_F(Run, HoldsTheLockUntilTheWholeProcessGroupHasEnded) {
    auto host =
        start({}, {"sh", "-c", "(until [ -e $0.go ]; do sleep 0.01; done) & echo left > $0; exit 5",
                   file("background")});
    ASSERT_TRUE(becomes("background", "left\n"));
    EXPECT_EQ(run({}, {"true"}).exit_code, 120);
    std::ofstream{file("background.go")};
    EXPECT_EQ(host.wait(), 5);
    EXPECT_FALSE(is_held());
}

TEST_F(Run, DoesNotWaitForADaemon) {
    const auto finished = run({}, {"sh", "-c", "setsid sleep 1000 > /dev/null 2>&1 &"});
    EXPECT_EQ(finished.exit_code, 0);
    EXPECT_FALSE(is_held());
}

TEST_F(Run, PassesFilesAndInputOnToItsCommand) {
    const std::string script =
        "echo hello | \"$0\" run job -- sh -c 'cat; echo three >&3' 3> \"$1\"";
    const auto finished =
        testing::run({.arguments = {"sh", "-c", script, LEASEHOLD_COMMAND, file("three")},
                      .environment = {"LEASEHOLD_STORE=" + store()}},
                     60s);
    EXPECT_EQ(finished.output, "hello\n");
    EXPECT_EQ(content_of(file("three")), "three\n");
}

TEST_F(Run, RunsNothingWhereTheStoreFails) {
    const auto finished =
        run({"--store", "postgres://nobody@127.0.0.1:1/nothing"}, {"touch", file("ran")});
    EXPECT_EQ(finished.exit_code, 122) << finished.output;
    EXPECT_FALSE(std::filesystem::exists(file("ran")));
}

TEST_F(Run, RefusesWhatItCannotKeep) {
    EXPECT_EQ(run({"--ttl", "500ms"}, {"true"}).exit_code, 2);
    EXPECT_EQ(run({"--ttl", "4s", "--grace", "3s"}, {"true"}).exit_code, 2);
    EXPECT_EQ(run({"--ttl", "48h"}, {"true"}).exit_code, 2);
    EXPECT_EQ(run({}, {}).exit_code, 2);
    EXPECT_EQ(leasehold({"run", "job", "true"}, {"LEASEHOLD_STORE=" + store()}).exit_code, 2);
}

TEST_F(Run, IsNotOutlivedByItsCommandHoweverLongTheLeaseIs) {
    Host host{
        {"run", "--ttl", "1h", "--grace", "1s", "job", "--", LEASEHOLD_SCRIBE, file("chronicle")},
        store()};
    ASSERT_TRUE(eventually([&] { return !content_of(file("chronicle")).empty(); }));
    const auto supervisors = children_of(host.pid());
    ASSERT_EQ(supervisors.size(), 1U);
    const auto commands = children_of(supervisors.front());
    ASSERT_FALSE(commands.empty());
    host.signal(SIGKILL);
    EXPECT_TRUE(eventually([&] { return !is_alive(supervisors.front()); }));
    for (const pid_t command : commands) EXPECT_FALSE(is_alive(command));
}

TEST_F(Run, AsksACommandToEndBeforeItKillsIt) {
    Host host{{"run", "--ttl", "10s", "--grace", "3s", "job", "--", "sh", "-c",
               "trap 'echo asked > $0; exit' TERM; echo ready > $0; while :; do sleep 0.01; done",
               file("asked")},
              store()};
    ASSERT_TRUE(becomes("asked", "ready\n")) << host.output();
    host.signal(SIGSTOP);
    EXPECT_TRUE(becomes("asked", "asked\n"));
    host.signal(SIGCONT);
    EXPECT_TRUE(eventually([&] { return host.exit_code() == 121; })) << host.output();
    EXPECT_TRUE(contains(host.output(), "was lost")) << host.output();
}

}  // namespace
}  // namespace leasehold::command
