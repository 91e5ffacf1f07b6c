#include <gtest/gtest.h>

#include <leasehold/lock_id.hpp>

#include "command/host.hpp"
#include "command/serving.hpp"
#include "wire/json.hpp"

// The command speaks the language of the environment, to people only.
namespace leasehold::command {
namespace {

using Environment = std::vector<std::string>;

const Environment korean{"LC_ALL=", "LC_MESSAGES=", "LANG=ko_KR.UTF-8"};

bool is_korean(const std::string& text) {
    return contains(text, "잠금");
}

class CommandInKorean : public ::testing::Test {
protected:
    testing::Finished run(const std::vector<std::string>& arguments,
                          Environment environment = korean) const {
        environment.push_back("LEASEHOLD_STORE=" + store());
        return leasehold(arguments, environment);
    }
    std::string store() const { return "sqlite:" + (folder_.path() / "locks.db").string(); }

private:
    testing::TemporaryFolder folder_;
};

TEST_F(CommandInKorean, IsChosenByTheFirstVariableThatIsSet) {
    const auto ls = [this](const Environment& environment) {
        return run({"ls"}, environment).output;
    };
    EXPECT_EQ(ls(korean), "잠금이 없습니다\n");
    EXPECT_EQ(ls({"LC_ALL=", "LC_MESSAGES=ko_KR.utf8", "LANG=C"}), "잠금이 없습니다\n");
    EXPECT_EQ(ls({"LC_ALL=ko", "LC_MESSAGES=C", "LANG=C"}), "잠금이 없습니다\n");
    for (const Environment& english :
         {Environment{"LC_ALL=C.UTF-8", "LC_MESSAGES=ko_KR.UTF-8", "LANG=ko_KR.UTF-8"},
          Environment{"LC_ALL=", "LC_MESSAGES=en_US.UTF-8", "LANG=ko_KR.UTF-8"},
          Environment{"LC_ALL=", "LC_MESSAGES=", "LANG="},
          Environment{"LC_ALL=", "LC_MESSAGES=", "LANG=kok_IN.UTF-8"},
          Environment{"LC_ALL=", "LC_MESSAGES=", "LANG=ko_KR.eucKR"}}) {
        EXPECT_EQ(ls(english), "nothing is locked\n");
    }
}

TEST_F(CommandInKorean, SaysWhatWasTakenAndWhoHasIt) {
    const auto taken = run({"try", "Order/1", "--owner", "alice", "--note", "통화 중"});
    EXPECT_EQ(taken.exit_code, 0);
    EXPECT_TRUE(taken.output.starts_with("Order/1 잠금을 선점했습니다(")) << taken.output;
    EXPECT_TRUE(contains(taken.output, "까지, 5분), 펜싱 토큰 ")) << taken.output;
    const auto refused = run({"try", "Order/1", "--owner", "bob"});
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_TRUE(contains(refused.output, "Order/1 잠금은 alice 님이 ")) << refused.output;
    EXPECT_TRUE(contains(refused.output, "남음, 메모: 통화 중)")) << refused.output;
    EXPECT_TRUE(contains(run({"ls"}).output, "남은 유효 시간"));
    EXPECT_TRUE(contains(run({"who", "Order/1"}).output, "배타"));
    EXPECT_EQ(run({"who", "Order/2"}).output, "Order/2 키를 선점한 소유자가 없습니다\n");
    EXPECT_EQ(run({"release-all", "alice"}).output, "Order/1 잠금을 해제했습니다\n");
    EXPECT_TRUE(contains(run({"history"}).output, "해제됨"));
}

TEST_F(CommandInKorean, ExplainsWhyALeaseIsGone) {
    Environment environment = korean;
    environment.push_back("LEASEHOLD_LOCK_ID=" + LockId::random().to_string());
    const auto gone = run({"check", "Order/1"}, environment);
    EXPECT_EQ(gone.exit_code, 1);
    EXPECT_EQ(gone.output, "leasehold: 그런 잠금이 없습니다\n");
}

TEST_F(CommandInKorean, RunsAndRefusesToRun) {
    EXPECT_EQ(run({"run", "job", "--", "true"}).exit_code, 0);
    ASSERT_EQ(run({"try", "job", "--owner", "alice"}).exit_code, 0);
    const auto refused = run({"run", "job", "--", "true"});
    EXPECT_EQ(refused.exit_code, 120);
    EXPECT_TRUE(contains(refused.output, "dist_lock/job 잠금은 alice 님이 ")) << refused.output;
    const auto failed =
        leasehold({"run", "--store", "sqlite:/nowhere/locks.db", "job", "--", "true"}, korean);
    EXPECT_TRUE(contains(failed.output, "leasehold: 명령을 시작하지 않았습니다: "))
        << failed.output;
}

TEST_F(CommandInKorean, WritesTheSameJson) {
    ASSERT_EQ(run({"try", "Order/1", "--owner", "alice"}).exit_code, 0);
    for (const std::vector<std::string>& arguments :
         {std::vector<std::string>{"ls", "--json"},
          {"try", "Order/1", "--owner", "bob", "--json"},
          {"history", "--json"}}) {
        const auto in_korean = run(arguments);
        const auto in_english = run(arguments, {"LC_ALL=C.UTF-8"});
        EXPECT_EQ(in_korean.exit_code, in_english.exit_code);
        EXPECT_FALSE(is_korean(in_korean.output)) << in_korean.output;
        EXPECT_EQ(wire::parse(in_korean.output).as_object().size(),
                  wire::parse(in_english.output).as_object().size());
    }
}

TEST_F(CommandInKorean, HearsAServersRefusalOfAKnockInKorean) {
    const Serving served{store()};
    const auto asked =
        leasehold({"knock", "Order/1", "--message", "?", "--store", served.url()}, korean);
    EXPECT_EQ(asked.exit_code, 1);
    EXPECT_EQ(asked.output, "leasehold: 이 키를 선점한 소유자가 없습니다. 바로 선점해 보세요\n");
}

}  // namespace
}  // namespace leasehold::command
