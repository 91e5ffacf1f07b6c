#include <gtest/gtest.h>

#include "support/process.hpp"

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

}  // namespace
}  // namespace leasehold::docs
