#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "command/host.hpp"
#include "command/serving.hpp"
#include "docs/page.hpp"

// What the documentation shows is done, in its order, and compared with what it says. With
// LEASEHOLD_UPDATE_DOCS=1 in the environment, what does not fit is written into the pages instead.
namespace leasehold::docs {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view address_in_pages = "127.0.0.1:7470";

std::string replaced(std::string text, std::string_view from, std::string_view to) {
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
        text.replace(at, from.size(), to);
    }
    return text;
}

class Documentation : public ::testing::TestWithParam<const char*> {
protected:
    // What each command prints, in one shell with a folder of its own.
    std::vector<std::string> run(const std::vector<Step>& steps) {
        const std::string mark = "\n\x1e\n";
        const std::string address = "127.0.0.1:" + std::to_string(server_.port());
        const std::filesystem::path script = folder_.path() / "script";
        {
            std::ofstream out{script};
            for (const Step& step : steps) {
                out << replaced(step.command, address_in_pages, address)
                    << "\nprintf '\\n\\036\\n'\n";
            }
        }
        const std::filesystem::path commands =
            std::filesystem::path{LEASEHOLD_COMMAND}.parent_path();
        const auto finished =
            testing::run({.arguments = {"bash", script},
                          .folder = folder_.path(),
                          .environment = {"PATH=" + commands.string() + ":" + std::getenv("PATH"),
                                          "NO_COLOR=1", "USER=alice", "LC_ALL=C.UTF-8"}},
                         180s);
        std::vector<std::string> outputs;
        std::string rest = replaced(finished.output, address, address_in_pages);
        for (std::size_t end = 0; (end = rest.find(mark)) != std::string::npos;) {
            outputs.push_back(rest.substr(0, end));
            rest.erase(0, end + mark.size());
        }
        EXPECT_EQ(rest, "");
        return outputs;
    }

private:
    testing::TemporaryFolder folder_;
    command::Serving server_{"sqlite:" + (folder_.path() / "leasehold.db").string()};
};

TEST_P(Documentation, SaysWhatIsPrinted) {
    const Page page{std::filesystem::path{LEASEHOLD_SOURCES} / GetParam()};
    ASSERT_FALSE(page.steps().empty());
    const auto outputs = run(page.steps());
    ASSERT_EQ(outputs.size(), page.steps().size());
    const char* const update = std::getenv("LEASEHOLD_UPDATE_DOCS");
    if (update != nullptr) return page.rewrite(outputs);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        const Step& step = page.steps()[i];
        EXPECT_TRUE(says_the_same(step.output, outputs[i]))
            << GetParam() << ":" << step.line << ": " << step.command << "\nprints\n"
            << outputs[i] << "\nand not\n"
            << step.output;
    }
}

std::vector<const char*> pages() {
    std::vector<const char*> all{"README.md",
                                 "docs/http.md",
                                 "docs/ko/run-a-job.md",
                                 "docs/ko/start.md",
                                 "docs/operations.md",
                                 "docs/protect.md",
                                 "docs/server.md",
                                 "docs/tutorials/one-host.md"};
#ifdef LEASEHOLD_EXAMPLES
    all.push_back("docs/reliability.md");  // runs one
#endif
    return all;
}

INSTANTIATE_TEST_SUITE_P(, Documentation, ::testing::ValuesIn(pages()), [](const auto& page) {
    return replaced(std::filesystem::path{page.param}.stem().string(), "-", "_");
});

TEST(ShellInDocumentation, CanBeReadByAShell) {
    const testing::TemporaryFolder folder;
    for (const auto& file :
         {"README.md", "docs/command.md", "docs/http.md", "docs/ko/from-the-texts.md",
          "docs/ko/move-from-locks.md", "docs/ko/run-a-job.md", "docs/ko/start.md",
          "docs/operations.md", "docs/reliability.md", "docs/server.md",
          "docs/tutorials/from-your-own-table.md", "docs/tutorials/guarded-save-mysql.md",
          "docs/tutorials/guarded-save-postgres.md", "docs/tutorials/guarded-save-sqlite.md",
          "docs/tutorials/web-form.md"}) {
        const std::filesystem::path script = folder.path() / "script";
        std::ofstream{script} << Page{std::filesystem::path{LEASEHOLD_SOURCES} / file}.shell();
        const auto finished = testing::run({.arguments = {"bash", "-n", script}}, 60s);
        EXPECT_EQ(finished.exit_code, 0) << file << ": " << finished.output;
    }
}

TEST(WhatAPageSays, IsTheSameButForWhatVaries) {
    EXPECT_TRUE(says_the_same(R"({"fence":1763200000000000,"remaining_ms":5})",
                              R"({"fence":1763212345678901,"remaining_ms":4.25})"));
    EXPECT_TRUE(says_the_same("a … c", "a b c"));
    EXPECT_FALSE(says_the_same("a … c", "a b d"));
    EXPECT_FALSE(says_the_same("one", "one\ntwo"));
    EXPECT_FALSE(says_the_same(R"({"fence":7})", R"({"fence":8})"));
}

}  // namespace
}  // namespace leasehold::docs
