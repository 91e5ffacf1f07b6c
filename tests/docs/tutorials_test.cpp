// The programs of the tutorials print what their pages say.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "support/private_server.hpp"
#include "support/process.hpp"

namespace leasehold::docs {
namespace {

using namespace std::chrono_literals;

// The block after "It prints:".
std::string printed_by(const std::string& page) {
    std::ifstream file{std::filesystem::path{LEASEHOLD_SOURCES} / "docs/tutorials" / page};
    const std::string text{std::istreambuf_iterator<char>{file}, {}};
    const std::string mark = "It prints:\n\n```text\n";
    const std::size_t begin = text.find(mark);
    if (begin == std::string::npos) return "no such block";
    const std::size_t first = begin + mark.size();
    return text.substr(first, text.find("```", first) - first);
}

void expect_as_told(const std::string& page, const std::string& program,
                    std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(),
                     std::string{LEASEHOLD_TUTORIALS} + "/tutorial_save_" + program);
    const auto finished = testing::run({.arguments = std::move(arguments)}, 60s);
    EXPECT_EQ(finished.exit_code, 0);
    EXPECT_EQ(finished.output, printed_by(page));
}

TEST(GuardedSaveTutorial, OnSqlite) {
    const testing::TemporaryFolder folder;
    expect_as_told("guarded-save-sqlite.md", "sqlite", {(folder.path() / "shop.db").string()});
}

TEST(GuardedSaveTutorial, OnPostgres) {
    const testing::PrivatePostgres server;
    expect_as_told("guarded-save-postgres.md", "postgres", {server.url()});
}

TEST(GuardedSaveTutorial, OnMariadb) {
    const testing::PrivateMariadb server;
    expect_as_told("guarded-save-mysql.md", "mariadb",
                   {"127.0.0.1", std::to_string(server.port()), "app", "secret", "locks"});
}

}  // namespace
}  // namespace leasehold::docs
