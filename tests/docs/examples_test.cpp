#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <memory>

#include "support/process.hpp"
#include "unit/waiting.hpp"

namespace leasehold::docs {
namespace {

using namespace std::chrono_literals;

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

testing::Finished quickstart(const testing::TemporaryFolder& folder) {
    return testing::run(
        {.arguments = {LEASEHOLD_QUICKSTART, (folder.path() / "quickstart.db").string()}}, 60s);
}

TEST(Quickstart, WritesUnderGuardAndNothingWhereTheGuardRefuses) {
    const testing::TemporaryFolder folder;
    const auto shown = quickstart(folder);
    EXPECT_EQ(shown.exit_code, 0) << shown.output;
    EXPECT_TRUE(has(shown.output, "alice edits Order/1, fence ")) << shown.output;
    EXPECT_TRUE(has(shown.output, "bob is refused: Order/1 is held by alice")) << shown.output;
    EXPECT_TRUE(has(shown.output, "alice's address saved\n")) << shown.output;
    EXPECT_TRUE(has(shown.output, "bob's address was not saved: ")) << shown.output;
    EXPECT_TRUE(has(shown.output, "the order goes to 12 Elm Street\n")) << shown.output;
}

TEST(Quickstart, CanBeRunAgainOnTheSameFile) {
    const testing::TemporaryFolder folder;
    EXPECT_EQ(quickstart(folder).exit_code, 0);
    const auto again = quickstart(folder);
    EXPECT_EQ(again.exit_code, 0) << again.output;
}

// Three processes of examples/leader on one file.
class Candidates : public ::testing::Test {
protected:
    void SetUp() override {
        for (const char* name : {"host-1", "host-2", "host-3"}) {
            processes_[name] = std::make_unique<testing::ChildProcess>(testing::Command{
                .arguments = {LEASEHOLD_LEADER, "sqlite:" + (folder_.path() / "jobs.db").string(),
                              name},
                .log = folder_.path() / "log"});
        }
    }

    // The names of the candidates that have led, in their order.
    [[nodiscard]] std::vector<std::string> leaders() const {
        std::ifstream log{folder_.path() / "log"};
        std::vector<std::string> names;
        for (std::string line; std::getline(log, line);) {
            const auto end = line.find(" leads with fence ");
            if (end != std::string::npos) names.push_back(line.substr(0, end));
        }
        return names;
    }
    [[nodiscard]] bool has_led(std::size_t terms) const {
        return testing::eventually([&] { return leaders().size() == terms; });
    }

    const testing::TemporaryFolder folder_;
    std::map<std::string, std::unique_ptr<testing::ChildProcess>> processes_;
};

TEST_F(Candidates, OneOfThreeLeadsAndAnotherTakesOverWhenItIsKilledOrEnds) {
    ASSERT_TRUE(has_led(1));
    const std::string first = leaders()[0];
    processes_.at(first)->kill_hard();
    processes_.erase(first);
    ASSERT_TRUE(has_led(2));
    const std::string second = leaders()[1];
    EXPECT_NE(second, first);
    EXPECT_EQ(processes_.at(second)->terminate(60s), 0);
    processes_.erase(second);
    ASSERT_TRUE(has_led(3));
    EXPECT_EQ(leaders()[2], processes_.begin()->first);
}

}  // namespace
}  // namespace leasehold::docs
