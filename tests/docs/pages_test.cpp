#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "docs/page.hpp"
#include "docs/pages.hpp"

// Every block of code of the documentation is executed, compiled or parsed, is the same as one that
// is, or is listed here with the reason why not.
namespace leasehold::docs {
namespace {

namespace fs = std::filesystem;

const fs::path page_sources = LEASEHOLD_SOURCES;

constexpr std::string_view blocks_in_functions = "tests/docs/CMakeLists.txt";
constexpr std::string_view package_test = "tests/package/package_test.cmake";

constexpr std::array rules = std::to_array<BlockRule>({
    {"README.md", "cpp", blocks_in_functions},
    {"README.md", "cmake", {}, "an excerpt; docs/library.md has the whole files"},
    {"README.md", "html", {}, "an excerpt; the form is left out"},
    {"clients/java/README.md", "console", {}, "builds the client with Maven, as its tests do"},
    {"clients/java/README.md", "java", "tests/clients/java/leasehold/ReadmeTest.java"},
    {"clients/python/README.md", "python", "tests/clients/python/test_readme.py"},
    {"docs/decisions/pattern-programs.md",
     "sql",
     {},
     "tests/conformance/pattern_program.cpp has them as one program"},
    {"docs/guarded-save.md", "cpp", blocks_in_functions},
    {"docs/index.md", "cpp", blocks_in_functions},
    {"docs/ko/from-the-texts.md", "cpp", blocks_in_functions},
    {"docs/library.md", "cmake", package_test},
    {"docs/library.md", "cpp", package_test},
    {"docs/lock-types.md", "cpp", blocks_in_functions},
    {"docs/operations.md", "nginx", {}, "nginx is not among the packages of the tests"},
    {"docs/operations.md", "yaml", {}, "Prometheus is not among the packages of the tests"},
    {"docs/protect.md", "sql", "tests/conformance/protection_dialects_test.cpp"},
    {"docs/security.md", "toml", {}, "the digest of the token is shortened"},
    {"docs/server.md", "js", {}, "an excerpt; web/console/live.js reads events like this"},
    {"docs/tutorials/from-your-own-table.md", "sql", {}, "the table that a reader may have"},
    {"docs/tutorials/guarded-save-mysql.md", "cpp", "tests/docs/tutorials_test.cpp"},
    {"docs/tutorials/guarded-save-postgres.md", "cpp", "tests/docs/tutorials_test.cpp"},
    {"docs/tutorials/guarded-save-sqlite.md", "cpp", "tests/docs/tutorials_test.cpp"},
    {"docs/tutorials/web-form.md", "html", {}, "an excerpt of docs/web-kit.md"},
    {"docs/waiting.md", "cpp", blocks_in_functions},
    {"docs/web-kit.md", "cmake", package_test},
    {"docs/web-kit.md", "cpp", blocks_in_functions},
    {"web/client/README.md", "html", "tests/browser/readme.test.js"},
    {"web/client/README.md", "js", "tests/browser/types.test.js"},
    {"web/client/README.md", "nginx", {}, "nginx is not among the packages of the tests"},
});

bool is_drawing_or_output(const Block& block) {
    return block.kind.empty() || block.kind == "text";
}
bool is_tested_on_every_page(const Block& block) {
    return block.kind == "sh" || block.kind == "json";
}

}  // namespace

std::vector<std::string> all_pages() {
    std::vector<std::string> pages;
    const auto add = [&](const fs::path& file) {
        if (file.extension() == ".md")
            pages.push_back(file.lexically_relative(page_sources).string());
    };
    for (const auto& entry : fs::directory_iterator{page_sources}) add(entry.path());
    for (const char* folder :
         {"bench", "clients", "docs", "examples", "packaging", "src", "tests", "web"}) {
        for (auto entry = fs::recursive_directory_iterator{page_sources / folder};
             entry != fs::recursive_directory_iterator{}; ++entry) {
            if (entry->path().filename() == "node_modules") entry.disable_recursion_pending();
            add(entry->path());
        }
    }
    std::ranges::sort(pages);
    return pages;
}

const BlockRule* find_rule(std::string_view page, std::string_view kind) {
    const auto rule = std::ranges::find_if(
        rules, [&](const BlockRule& r) { return r.page == page && r.kind == kind; });
    return rule == rules.end() ? nullptr : &*rule;
}

namespace {

TEST(BlocksOfThePages, AreTestedOrSayWhyNot) {
    std::set<std::pair<std::string, std::string>> tested;
    std::map<std::string, std::vector<Block>> untested;
    for (const std::string& page : all_pages()) {
        const Page read{page_sources / page};
        for (const Block& block : read.blocks()) {
            if (is_drawing_or_output(block) || is_tested_on_every_page(block)) continue;
            if (block.kind == "console" || find_rule(page, block.kind) != nullptr) {
                tested.emplace(block.kind, block.text);
            } else {
                untested[page].push_back(block);
            }
        }
    }
    for (const auto& [page, blocks] : untested) {
        for (const Block& block : blocks) {
            EXPECT_TRUE(tested.contains({block.kind, block.text}))
                << page << ':' << block.line << ": no test uses this block of " << block.kind;
        }
    }
}

TEST(BlocksOfThePages, EveryRuleIsNeededAndItsTestNamesThePage) {
    for (const BlockRule& rule : rules) {
        const Page page{page_sources / rule.page};
        EXPECT_TRUE(std::ranges::find(page.blocks(), rule.kind, &Block::kind) !=
                    page.blocks().end())
            << rule.page << " has no block of " << rule.kind;
        EXPECT_NE(rule.test.empty(), rule.why_not.empty()) << rule.page << ' ' << rule.kind;
        if (rule.test.empty()) continue;
        std::ifstream in{page_sources / rule.test};
        const std::string test{std::istreambuf_iterator<char>{in}, {}};
        EXPECT_NE(test.find(fs::path{rule.page}.filename().string()), std::string::npos)
            << rule.test << " does not name " << rule.page;
    }
}

TEST(BlocksOfThePages, JsonCanBeParsed) {
    for (const std::string& page : all_pages()) {
        const Page read{page_sources / page};
        for (const Block& block : read.blocks()) {
            if (block.kind != "json") continue;
            boost::system::error_code error;
            (void)boost::json::parse(block.text, error);
            EXPECT_FALSE(error) << page << ':' << block.line << ": " << error.message();
        }
    }
}

}  // namespace
}  // namespace leasehold::docs
