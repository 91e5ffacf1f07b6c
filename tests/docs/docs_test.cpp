#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>

#include "command/host.hpp"
#include "command/serving.hpp"
#include "docs/page.hpp"
#include "docs/pages.hpp"

// Executes the commands of the documentation in their order, and compares their output with the
// pages. With LEASEHOLD_UPDATE_DOCS=1 in the environment, what does not fit is written into the
// pages instead.
namespace leasehold::docs {
namespace {

using namespace std::chrono_literals;

const std::filesystem::path repository = LEASEHOLD_SOURCES;

#ifdef LEASEHOLD_EXAMPLES
constexpr bool has_examples = true;
#else
constexpr bool has_examples = false;
#endif

constexpr std::string_view address_in_pages = "127.0.0.1:7470";

std::string replaced(std::string text, std::string_view from, std::string_view to) {
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
        text.replace(at, from.size(), to);
    }
    return text;
}

class Documentation : public ::testing::TestWithParam<std::string> {
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
    const Page page{repository / GetParam()};
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

std::vector<std::string> pages_with_commands() {
    std::vector<std::string> pages = all_pages();
    std::set<std::string> commands;
    std::erase_if(pages, [&](const std::string& file) {
        if (find_rule(file, "console") != nullptr) return true;
        if (!has_examples && file == "docs/reliability.md") return true;  // it runs one
        std::string all;
        const Page page{repository / file};
        for (const Step& step : page.steps()) all += step.command + '\n';
        // A translation has the commands of the page that it translates.
        return all.empty() || !commands.insert(all).second;
    });
    return pages;
}

INSTANTIATE_TEST_SUITE_P(, Documentation, ::testing::ValuesIn(pages_with_commands()),
                         [](const auto& page) {
                             std::string name = page.param.substr(0, page.param.find('.'));
                             std::ranges::replace_if(
                                 name, [](char c) { return c == '-' || c == '/'; }, '_');
                             return name;
                         });

TEST(ShellInDocumentation, CanBeReadByAShell) {
    const testing::TemporaryFolder folder;
    for (const std::string& file : all_pages()) {
        const std::string shell = Page{repository / file}.shell();
        if (shell.empty()) continue;
        const std::filesystem::path script = folder.path() / "script";
        std::ofstream{script} << shell;
        const auto finished = testing::run({.arguments = {"bash", "-n", script}}, 60s);
        EXPECT_EQ(finished.exit_code, 0) << file << ": " << finished.output;
    }
}

TEST(ComparisonWithAPage, IsTheSameButForWhatVaries) {
    EXPECT_TRUE(says_the_same(R"({"fence":1763200000000000,"remaining_ms":5})",
                              R"({"fence":1763212345678901,"remaining_ms":4.25})"));
    EXPECT_TRUE(says_the_same("a … c", "a b c"));
    EXPECT_FALSE(says_the_same("a … c", "a b d"));
    EXPECT_FALSE(says_the_same("one", "one\ntwo"));
    EXPECT_FALSE(says_the_same(R"({"fence":7})", R"({"fence":8})"));
}

}  // namespace
}  // namespace leasehold::docs
