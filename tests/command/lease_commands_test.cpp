#include <gtest/gtest.h>

#include <sys/stat.h>

#include <fstream>
#include <regex>

#include <leasehold/leasehold.hpp>

#include "command/host.hpp"
#include "command/serving.hpp"
#include "faults/databases.hpp"
#include "support/tcp_gate.hpp"
#include "wire/messages.hpp"

namespace leasehold::command {
namespace {

using namespace std::chrono_literals;

bool has_lock_id(const std::string& text) {
    for (std::size_t at = 0; at + 36 <= text.size(); ++at) {
        if (LockId::parse(text.substr(at, 36))) return true;
    }
    return false;
}

class Command : public ::testing::Test {
protected:
    testing::Finished run(std::vector<std::string> arguments,
                          std::vector<std::string> environment = {}) const {
        environment.push_back("LEASEHOLD_STORE=" + store_);
        return leasehold(arguments, environment);
    }
    Outcome json(std::vector<std::string> arguments, int exit_code = 0) const {
        arguments.emplace_back("--json");
        const auto finished = run(std::move(arguments));
        EXPECT_EQ(finished.exit_code, exit_code) << finished.output;
        return wire::outcome_from(wire::parse(finished.output));
    }
    Lease take(const std::string& key) const {
        return std::get<Lease>(json({"try", key, "--owner", "alice"}));
    }
    std::string file(const std::string& name) const { return (folder_.path() / name).string(); }

private:
    testing::TemporaryFolder folder_;
    std::string store_ = "sqlite:" + file("locks.db");
};

TEST_F(Command, TakesALockAndTellsEverybodyElseWhoHasIt) {
    const auto taken =
        run({"try", "Order/1", "--owner", "alice", "--note", "on the phone", "--ttl", "10m"});
    EXPECT_EQ(taken.exit_code, 0);
    EXPECT_TRUE(contains(taken.output, "Order/1 is yours until ")) << taken.output;
    EXPECT_TRUE(contains(taken.output, "(10m)")) << taken.output;
    EXPECT_TRUE(has_lock_id(taken.output));

    const auto refused = run({"try", "Order/1", "--owner", "bob"});
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_TRUE(contains(refused.output, "Order/1 is held by alice since ")) << refused.output;
    EXPECT_TRUE(std::regex_search(refused.output, std::regex{R"(9m(\d+s)? left \(on the phone\))"}))
        << refused.output;
    EXPECT_FALSE(has_lock_id(refused.output));
}

TEST_F(Command, GivesTheSameOwnerItsLeaseBackAndNobodyElse) {
    EXPECT_EQ(run({"try", "Order/1", "--owner", "alice"}).exit_code, 0);
    EXPECT_EQ(run({"try", "Order/1", "--owner", "alice"}).exit_code, 0);
    EXPECT_EQ(run({"try", "Order/2"}).exit_code, 0);
    EXPECT_EQ(run({"try", "Order/2"}).exit_code, 1);
}

TEST_F(Command, ChecksExtendsRenewsAndReleasesByLockId) {
    const Lease lease = take("Order/1");
    const std::vector<std::string> secret{"LEASEHOLD_LOCK_ID=" + lease.lock_id.to_string()};
    EXPECT_TRUE(contains(run({"check", "Order/1"}, secret).output, "Order/1 is alive until "));
    EXPECT_TRUE(contains(run({"extend", "Order/1", "--by", "10m"}, secret).output, "(14m"));
    EXPECT_TRUE(contains(run({"renew", "Order/1", "--ttl", "1h"}, secret).output, "(1h)"));
    EXPECT_EQ(run({"release", "Order/1"}, secret).output, "Order/1 is released\n");
    const auto again = run({"release", "Order/1"}, secret);
    EXPECT_EQ(again.exit_code, 1);
    EXPECT_TRUE(contains(again.output, "has been released")) << again.output;
    EXPECT_EQ(run({"check"}, secret).exit_code, 1);
}

TEST_F(Command, RefusesALockIdOfAnotherKey) {
    const Lease lease = take("Order/1");
    const std::vector<std::string> secret{"LEASEHOLD_LOCK_ID=" + lease.lock_id.to_string()};
    EXPECT_EQ(run({"release", "Order/2"}, secret).exit_code, 1);
    EXPECT_EQ(run({"check"}, secret).exit_code, 0);
}

TEST_F(Command, KeepsTheLockIdInAFileForItsOwnerAlone) {
    const auto taken = run({"try", "Order/1", "--lock-id-file", file("secret")});
    EXPECT_EQ(taken.exit_code, 0);
    EXPECT_FALSE(has_lock_id(taken.output)) << taken.output;
    struct stat secret{};
    ASSERT_EQ(::stat(file("secret").c_str(), &secret), 0);
    EXPECT_EQ(secret.st_mode & 0777U, 0600U);
    EXPECT_EQ(run({"check", "Order/1", "--lock-id-file", file("secret")}).exit_code, 0);
    EXPECT_EQ(run({"release", "--lock-id-file", file("secret")}).exit_code, 0);
}

TEST_F(Command, TouchesNothingWhereTheLockIdCannotBeKept) {
    EXPECT_EQ(run({"try", "Order/1", "--lock-id-file", file("no/such/folder")}).exit_code, 2);
    EXPECT_EQ(run({"who", "Order/1"}).output, "nobody holds Order/1\n");
}

TEST_F(Command, ReadsTheLockIdFromStandardInput) {
    const std::string script = "\"$0\" try -q Order/1 | \"$0\" release Order/1 --lock-id -";
    const auto finished =
        testing::run({.arguments = {"sh", "-c", script, LEASEHOLD_COMMAND},
                      .environment = {"LEASEHOLD_STORE=sqlite:" + file("locks.db")}},
                     60s);
    EXPECT_EQ(finished.output, "Order/1 is released\n");
}

TEST_F(Command, AsksForTheLockIdItWasNotGiven) {
    const auto finished = run({"release", "Order/1"});
    EXPECT_EQ(finished.exit_code, 2);
    EXPECT_TRUE(contains(finished.output, "--lock-id-file")) << finished.output;
    EXPECT_EQ(run({"release", "Order/1", "--lock-id", "nonsense"}).exit_code, 2);
}

TEST_F(Command, TakesSeveralKeysOrNone) {
    (void)take("B/2");
    EXPECT_EQ(run({"try", "A/1", "B/2"}).exit_code, 1);
    EXPECT_EQ(run({"who", "A/1"}).output, "nobody holds A/1\n");
    EXPECT_EQ(std::get<std::vector<Lease>>(json({"try", "A/1", "C/3"})).size(), 2U);
}

TEST_F(Command, SharesAKeyWithOtherSharers) {
    EXPECT_EQ(run({"try", "Price/1", "--shared"}).exit_code, 0);
    EXPECT_EQ(run({"try", "Price/1", "--shared"}).exit_code, 0);
    EXPECT_EQ(run({"try", "Price/1"}).exit_code, 1);
    EXPECT_EQ(std::get<HolderPage>(json({"who", "Price/1"})).size(), 2U);
}

TEST_F(Command, TakesAPlaceOfAKeyThatHasSome) {
    EXPECT_EQ(run({"try", "Job/1", "--places", "2"}).exit_code, 0);
    EXPECT_EQ(run({"try", "Job/1", "--places", "2"}).exit_code, 0);
    EXPECT_EQ(run({"try", "Job/1", "--places", "2"}).exit_code, 1);
    EXPECT_EQ(std::get<HolderPage>(json({"who", "Job/1"})).size(), 2U);
    const auto none = run({"try", "Job/2", "--places", "0"});
    EXPECT_NE(none.exit_code, 0);
    EXPECT_TRUE(contains(none.output, "at least 1")) << none.output;
}

TEST_F(Command, WaitsForAKeyUntilItIsReleased) {
    EXPECT_EQ(run({"try", "Order/1", "--ttl", "300ms"}).exit_code, 0);
    EXPECT_EQ(run({"try", "Order/1", "--wait", "60s"}).exit_code, 0);
}

TEST_F(Command, RevivesOnlyWhatNobodyHeldSince) {
    const Lease lease = take("Order/1");
    const std::string fence = std::to_string(lease.fence);
    EXPECT_EQ(run({"release-all", "alice"}).output, "Order/1 is released\n");
    EXPECT_EQ(run({"try", "Order/1", "--since", fence, "--owner", "bob"}).exit_code, 0);
    EXPECT_EQ(run({"release-all", "bob"}).exit_code, 0);
    EXPECT_EQ(run({"try", "Order/1", "--since", fence, "--owner", "carol"}).exit_code, 1);
}

TEST_F(Command, ListsWhoHoldsWhatWithoutSecrets) {
    EXPECT_EQ(run({"ls"}).output, "nothing is locked\n");
    EXPECT_EQ(
        run({"try", "Order/1", "--owner", "alice/tab-1", "--note", "Größe\nändern"}).exit_code, 0);
    EXPECT_EQ(run({"try", "Invoice/日本", "--owner", "bob"}).exit_code, 0);
    const auto all = run({"ls"});
    EXPECT_TRUE(contains(all.output, "KEY           OWNER        MODE")) << all.output;
    EXPECT_TRUE(contains(all.output, "Invoice/日本  bob          exclusive")) << all.output;
    EXPECT_TRUE(contains(all.output, "Größe ändern")) << all.output;
    EXPECT_FALSE(contains(all.output, "\x1b")) << all.output;
    EXPECT_FALSE(has_lock_id(all.output + run({"ls", "--json"}).output));
    EXPECT_FALSE(contains(run({"ls", "--type", "Order"}).output, "bob"));
    EXPECT_TRUE(contains(run({"ls", "--owner", "alice", "--below"}).output, "tab-1"));
    EXPECT_EQ(run({"ls", "--owner", "alice"}).output, "nothing is locked\n");
    EXPECT_EQ(std::get<HolderPage>(json({"ls", "--limit", "1"})).size(), 1U);
}

TEST_F(Command, ReleasesAllOfAnOwner) {
    for (const char* const owner : {"alice/1", "alice/2", "bob"}) {
        EXPECT_EQ(run({"try", std::string{"Order/"} + owner, "--owner", owner}).exit_code, 0);
    }
    EXPECT_EQ(run({"release-all", "alice"}).output, "alice holds nothing\n");
    EXPECT_EQ(run({"release-all", "alice", "--below", "--key", "Order/alice/1"}).output,
              "Order/alice/1 is released\n");
    EXPECT_EQ(std::get<std::vector<Lease>>(json({"release-all", "alice", "--below"})).size(), 1U);
    EXPECT_TRUE(contains(run({"ls"}).output, "bob"));
}

TEST_F(Command, BreaksExactlyWhatWasSeenAndTellsTheHolder) {
    const Lease lease = take("Order/1");
    const std::string fence = std::to_string(lease.fence);
    EXPECT_EQ(run({"break", "Order/1", "--reason", "x"}).exit_code, 2);
    EXPECT_EQ(run({"break", "Order/1", "--fence", fence}).exit_code, 2);
    EXPECT_EQ(run({"break", "Order/1", "--fence", "1", "--reason", "x"}).exit_code, 1);
    EXPECT_EQ(
        run({"break", "Order/1", "--fence", fence, "--reason", "left", "--by", "root"}).output,
        "the lease of alice on Order/1 is broken\n");
    const auto checked =
        run({"check", "Order/1"}, {"LEASEHOLD_LOCK_ID=" + lease.lock_id.to_string()});
    EXPECT_EQ(checked.exit_code, 1);
    EXPECT_TRUE(contains(checked.output, "broken by root: left")) << checked.output;
    const auto history = run({"history", "Order/1"});
    EXPECT_TRUE(contains(history.output, "broken")) << history.output;
    EXPECT_EQ(std::get<HistoryPage>(json({"history"})).front().by, "root");
}

TEST_F(Command, AnswersAsJsonWhateverTheAnswerIs) {
    const Lease lease = take("Order/1");
    EXPECT_FALSE(lease.lock_id.is_nil());
    const auto refusal = std::get<Refusal>(json({"try", "Order/1", "--owner", "bob"}, 1));
    EXPECT_EQ(refusal.holders.front().owner, "alice");
    EXPECT_EQ(std::get<Purged>(json({"purge"})).complete, true);
    const auto fault =
        std::get<StoreFault>(json({"ls", "--store", "postgres://nobody@127.0.0.1:1/nothing"}, 3));
    EXPECT_EQ(fault.effect(), StoreFault::Effect::none);
}

TEST_F(Command, NamesTheWrongArgument) {
    const auto wrong = [&](std::vector<std::string> arguments, const std::string& answer) {
        const auto finished = run(std::move(arguments));
        EXPECT_EQ(finished.exit_code, 2) << finished.output;
        EXPECT_TRUE(contains(finished.output, answer)) << finished.output;
    };
    wrong({}, "--help");
    wrong({"nonsense"}, "there is no command 'nonsense'");
    wrong({"try"}, "KEY is required");
    wrong({"try", "Order/1", "--ttl", "90"}, "'90' has no unit; write 90s for seconds");
    wrong({"try", "Order/1", "--ttl", "90"}, "leasehold: --ttl: the duration '90' has no unit");
    wrong({"try", "Order/1", "--ttl", "soon"}, "'soon' is not a duration");
    wrong({"try", "Order/1", "--ttl", "1ms"}, "the ttl is 1ms; at least 100ms");
    wrong({"try", "Order/1", "--since", "x"}, "expected a whole number, got 'x'");
    wrong({"try", "Order/1", "--since", "x"}, "leasehold: --since: expected a whole number");
    wrong({"try", "Order/"}, "the key's id is empty");
    wrong({"ls", "--store", "nonsense:"}, "no store for 'nonsense:'");
    wrong({"ls", "--limit", "0"}, "--limit");
    wrong({"who", "a/b", "extra"}, "'extra' is one argument too many");
    wrong({"knock", "Order/1"}, "leasehold serve");
    const auto nowhere = leasehold({"ls"}, {"LEASEHOLD_STORE="});
    EXPECT_EQ(nowhere.exit_code, 2);
    EXPECT_TRUE(contains(nowhere.output, "export LEASEHOLD_STORE=")) << nowhere.output;
}

TEST_F(Command, SuggestsTheNameThatWasMisspelt) {
    const auto answer = [&](std::vector<std::string> arguments) {
        const auto finished = run(std::move(arguments));
        EXPECT_EQ(finished.exit_code, 2) << finished.output;
        return finished.output;
    };
    const std::string wait = "there is no option '--wiat'; did you mean '--wait'?";
    EXPECT_TRUE(contains(answer({"try", "Order/1", "--wiat", "5s"}), wait));
    EXPECT_TRUE(contains(answer({"try", "Order/1", "--wiat=5s"}), wait));
    EXPECT_TRUE(contains(answer({"run", "--wiat", "5s", "nightly", "--", "true"}), wait));
    // Also where something else is missing.
    EXPECT_TRUE(
        contains(answer({"who", "--jsn"}), "there is no option '--jsn'; did you mean '--json'"));
    EXPECT_TRUE(contains(answer({"--stroe", "x", "ls"}), "did you mean '--store'?"));
    EXPECT_TRUE(contains(answer({"ls", "--elephant"}), "there is no option '--elephant'\n"));
    EXPECT_TRUE(contains(answer({"relaese"}), "no command 'relaese'; did you mean 'release'?"));
}

TEST_F(Command, SaysWhereTheDashesOfRunBelong) {
    const auto finished = run({"run", "--wait", "5s", "nightly", "echo", "-n", "hi"});
    EXPECT_EQ(finished.exit_code, 2);
    EXPECT_TRUE(contains(finished.output, "leasehold run --wait 5s nightly -- echo -n hi"))
        << finished.output;
    // Also where the lock has the name of the command, or of the subcommand.
    const auto same_name = run({"run", "echo", "echo", "hi"});
    EXPECT_TRUE(contains(same_name.output, "leasehold run echo -- echo hi")) << same_name.output;
    const auto run_run = run({"run", "run", "run", "hi"});
    EXPECT_TRUE(contains(run_run.output, "leasehold run run -- run hi")) << run_run.output;
    const auto option_last = run({"run", "nightly", "echo", "--note", "echo"});
    EXPECT_TRUE(contains(option_last.output, "leasehold run nightly -- echo --note echo"))
        << option_last.output;
}

TEST_F(Command, NamesEverythingThatBreakNeedsAtOnce) {
    const auto both = run({"break", "Order/1"});
    EXPECT_EQ(both.exit_code, 2);
    EXPECT_TRUE(contains(both.output, "--fence") && contains(both.output, "--reason"))
        << both.output;
    EXPECT_FALSE(contains(run({"break", "Order/1", "--fence", "1"}).output, "--fence"));
}

TEST_F(Command, SaysThatNothingWasChangedOnlyWhereSomethingCouldHaveBeen) {
    const std::string nowhere = "postgres://nobody@127.0.0.1:1/nothing";
    const auto read = run({"ls", "--store", nowhere});
    EXPECT_EQ(read.exit_code, 3);
    EXPECT_FALSE(contains(read.output, "nothing was changed")) << read.output;
    EXPECT_TRUE(contains(run({"purge", "--store", nowhere}).output, "nothing was changed"));
}

TEST_F(Command, GivesABrokenLeaseNoTimeThatRemains) {
    const Lease lease = take("Order/1");
    const auto broken = run(
        {"break", "Order/1", "--fence", std::to_string(lease.fence), "--reason", "left", "--json"});
    EXPECT_EQ(broken.exit_code, 0) << broken.output;
    EXPECT_FALSE(std::regex_search(broken.output, std::regex{"\"remaining_ms\": ?[1-9]"}))
        << broken.output;
}

TEST_F(Command, TakesTheStoreBeforeAndAfterItsName) {
    const std::string other = "sqlite:" + file("other.db");
    EXPECT_EQ(run({"--store", other, "try", "Order/1"}).exit_code, 0);
    EXPECT_EQ(run({"try", "Order/1", "--store", other}).exit_code, 1);
    EXPECT_EQ(run({"try", "Order/1"}).exit_code, 0);
}

TEST_F(Command, TakesNoLockThatNobodyElseCanSee) {
    const auto alone = run({"try", "Order/1", "--store", "memory:"});
    EXPECT_EQ(alone.exit_code, 2);
    EXPECT_TRUE(contains(alone.output, "keeps nobody out")) << alone.output;
    const auto not_run = run({"run", "--store", "memory:", "nightly", "--", "echo", "started"});
    EXPECT_EQ(not_run.exit_code, 2);
    EXPECT_FALSE(contains(not_run.output, "started")) << not_run.output;
}

TEST_F(Command, FindsTheFaultsOfAStore) {
    const auto healthy = run({"doctor"});
    EXPECT_EQ(healthy.exit_code, 0);
    for (const char* const about : {"store", "schema", "clock", "durability", "permissions"}) {
        EXPECT_TRUE(contains(healthy.output, std::string{"ok       "} + about)) << healthy.output;
    }
    EXPECT_TRUE(contains(run({"doctor", "--store", "memory:"}).output, "warning  durability"));

    const auto down = run({"doctor", "--store", "postgres://nobody@127.0.0.1:1/nothing"});
    EXPECT_EQ(down.exit_code, 1);
    EXPECT_TRUE(contains(down.output, "problem  store")) << down.output;
    EXPECT_TRUE(contains(run({"doctor", "--json"}).output, R"("verdict":"ok")"));
}

TEST_F(Command, SaysWhatASqliteFileNeeds) {
    const auto nowhere = run({"doctor", "--store", "sqlite:" + file("no/locks.db")});
    EXPECT_EQ(nowhere.exit_code, 1);
    EXPECT_TRUE(contains(nowhere.output, "No such file or directory; the folder must exist"))
        << nowhere.output;

    const std::string strange = file("strange.db");
    std::ofstream{strange} << "this is no database, however long one looks at it";
    const auto no_database = run({"doctor", "--store", "sqlite:" + strange});
    EXPECT_EQ(no_database.exit_code, 1);
    EXPECT_TRUE(contains(no_database.output, "strange.db is not an SQLite database"))
        << no_database.output;
}

TEST_F(Command, SaysThatAnAnswerCouldNotBeWritten) {
    const auto finished = testing::run(
        {.arguments = {"sh", "-c", "\"$0\" try Order/1 > /dev/full", LEASEHOLD_COMMAND},
         .environment = {"LEASEHOLD_STORE=sqlite:" + file("locks.db")}},
        60s);
    EXPECT_EQ(finished.exit_code, 6);
    EXPECT_TRUE(contains(finished.output, "could not be written")) << finished.output;
}

TEST_F(Command, WarnsOfAFileThatEverybodyCanRead) {
    EXPECT_EQ(run({"ls"}).exit_code, 0);
    ASSERT_EQ(::chmod(file("locks.db").c_str(), 0644), 0);
    EXPECT_TRUE(contains(run({"doctor"}).output, "warning  secrets"));
    ASSERT_EQ(::chmod(file("locks.db").c_str(), 0600), 0);
    EXPECT_TRUE(contains(run({"doctor"}).output, "ok       secrets"));
}

// More milliseconds than an int holds, which is what poll() and SQLite take.
constexpr const char* hundred_days = "io_timeout_ms=8640000000";

std::string with_parameter(const std::string& url, const std::string& parameter) {
    return url + (contains(url, "?") ? "&" : "?") + parameter;
}

TEST_F(Command, AnswersWithAnIoTimeoutOfAHundredDays) {
    const std::string store = with_parameter("sqlite:" + file("locks.db"), hundred_days);
    EXPECT_EQ(run({"try", "Order/1", "--store", store}).exit_code, 0);
    const Serving server{store};
    const std::string http = with_parameter(server.url(), hundred_days);
    EXPECT_EQ(run({"try", "Order/2", "--store", http}).exit_code, 0);
    EXPECT_EQ(run({"try", "Order/2", "--wait", "100ms", "--store", http}).exit_code, 1);
}

class CommandOnAServer : public faults::ServerTest {};
INSTANTIATE_TEST_SUITE_P(, CommandOnAServer, ::testing::ValuesIn(faults::every_server()),
                         faults::by_store());

TEST_P(CommandOnAServer, WorksAsOnEveryOtherStore) {
    const std::vector<std::string> environment{"LEASEHOLD_STORE=" + url()};
    const auto taken = leasehold({"try", "-q", "Order/1", "--owner", "alice"}, environment);
    ASSERT_EQ(taken.exit_code, 0) << taken.output;
    EXPECT_EQ(leasehold({"try", "Order/1"}, environment).exit_code, 1);
    EXPECT_TRUE(contains(leasehold({"ls"}, environment).output, "alice"));
    const auto doctor = leasehold({"doctor"}, environment);
    EXPECT_EQ(doctor.exit_code, 0) << doctor.output;
    EXPECT_TRUE(contains(doctor.output, "ok       durability")) << doctor.output;
    auto secret = environment;
    secret.push_back("LEASEHOLD_LOCK_ID=" + taken.output.substr(0, 36));
    EXPECT_EQ(leasehold({"release", "Order/1"}, secret).exit_code, 0);
}

TEST_P(CommandOnAServer, AnswersWithAnIoTimeoutOfAHundredDays) {
    const auto taken =
        leasehold({"try", "Order/1", "--store", with_parameter(url(), hundred_days)});
    EXPECT_EQ(taken.exit_code, 0) << taken.output;
}

TEST_P(CommandOnAServer, SaysThatAnEffectIsUnknownWhenTheAnswerIsLost) {
    // The tables are there, so that the first answers after connecting are about the lock.
    ASSERT_EQ(leasehold({"ls", "--store", url()}).exit_code, 0);
    bool unknown = false;
    for (std::size_t answers = 0; !unknown && answers < 40; ++answers) {
        testing::TcpGate gate{"127.0.0.1", database().port()};
        gate.cut_before_answer(answers);
        const auto finished = leasehold({"try", "Order/" + std::to_string(answers), "--store",
                                         database().url(name(), gate.port())});
        EXPECT_TRUE(finished.exit_code == 0 || finished.exit_code == 3 || finished.exit_code == 4)
            << finished.output;
        unknown = finished.exit_code == 4;
        EXPECT_EQ(unknown, contains(finished.output, "is unknown")) << finished.output;
        if (gate.cuts() == 0) break;
    }
    EXPECT_TRUE(unknown);
}

}  // namespace
}  // namespace leasehold::command
