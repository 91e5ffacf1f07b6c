#include "cli/output.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace leasehold::cli {
namespace {

TEST(DisplayWidth, CountsColumnsNotBytes) {
    EXPECT_EQ(display_width("abc"), 3U);
    EXPECT_EQ(display_width("Größe"), 5U);
    EXPECT_EQ(display_width("日本"), 4U);
    EXPECT_EQ(display_width("e\u0301"), 1U);
    EXPECT_EQ(display_width("\xFF"), 1U);
}

TEST(Fitted, CutsAtACharacterAndSaysSo) {
    EXPECT_EQ(fitted("Größe", 5), "Größe");
    EXPECT_EQ(fitted("Größe", 4), "Grö…");
    EXPECT_EQ(fitted("日本語", 5), "日本…");
    EXPECT_EQ(fitted("日本語", 4), "日…");
    EXPECT_EQ(fitted("abc", 0), "");
}

TEST(Fitted, LeavesNothingThatCouldActOnATerminal) {
    EXPECT_EQ(fitted("a\nb\tc"), "a b c");
    EXPECT_EQ(fitted("a\x1b[31mb"), "a [31mb");
    EXPECT_EQ(fitted("a\u202Eb"), "a b");
}

TEST(Output, IsPrintedInOnePlace) {
    namespace fs = std::filesystem;
    const fs::path folder = fs::path{LEASEHOLD_SOURCES} / "src/cli";
    std::size_t files = 0;
    for (const auto& entry : fs::recursive_directory_iterator{folder}) {
        const std::string name = entry.path().filename();
        if (!name.ends_with(".cpp") || name == "output.cpp") continue;
        // The completion script and the manual page consist of this program's own words.
        if (name == "completion.cpp" || name == "manual.cpp") continue;
        ++files;
        std::ifstream source{entry.path()};
        const std::string text{std::istreambuf_iterator<char>{source}, {}};
        for (const char* printing : {"std::cout", "std::cerr", "std::clog", "printf(", "puts("}) {
            EXPECT_FALSE(text.contains(printing)) << entry.path() << " uses " << printing;
        }
    }
    EXPECT_GT(files, 30U);
}

TEST(Tables, AreAlignedByWhatATerminalShows) {
    Table table{{"KEY", "OWNER"}};
    table.add({std::string{"日本"}, std::string{"x"}});
    table.add({std::string{"Größe"}, std::string{"y"}});
    EXPECT_EQ(table.lines(80), (std::vector<std::string>{"KEY    OWNER", "日本   x", "Größe  y"}));
}

TEST(Tables, ShowEveryColumnBesideALongText) {
    Table table{{"KEY", "OWNER"}};
    table.add({std::string(100, 'k'), std::string{"alice"}});
    table.add({std::string{"short"}, std::string{"bob"}});
    const std::vector<std::string> lines{"KEY                      OWNER",  //
                                         "kkkkkkkkkkkkkkkkkkkkkk…  alice",  //
                                         "short                    bob"};
    EXPECT_EQ(table.lines(30), lines);
}

TEST(Tables, AreCutToTheTerminal) {
    Table table{{"KEY", "OWNER"}};
    table.add({std::string{"abcdef"}, std::string{"alice"}});
    for (std::size_t columns = 1; columns < 16; ++columns) {
        for (const std::string& line : table.lines(columns)) {
            EXPECT_LE(display_width(line), columns) << line;
        }
    }
}

}  // namespace
}  // namespace leasehold::cli
