// The guides name a test beside each promise, and the files that a change touches: they exist.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

namespace leasehold::docs {
namespace {

namespace fs = std::filesystem;

const fs::path source_folder = LEASEHOLD_SOURCES;

std::string text_of(const fs::path& path) {
    std::ifstream file{path};
    return {std::istreambuf_iterator<char>{file}, {}};
}

// Calls the function with the two groups of each match, "Suite" and "Test".
template <class Function>
void for_each_match(const std::string& text, const std::regex& pattern, Function function) {
    for (std::sregex_iterator at{text.begin(), text.end(), pattern}, end; at != end; ++at) {
        function((*at)[1].str(), (*at)[2].str());
    }
}

// "Suite.Test" and "Suite.*" of every test in C++.
std::set<std::string> tests_that_exist() {
    const std::regex test{R"(\bTEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\))"};
    std::set<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator{source_folder / "tests"}) {
        if (entry.path().extension() != ".cpp") continue;
        for_each_match(text_of(entry.path()), test,
                       [&](const std::string& suite, const std::string& name) {
                           names.insert(suite + '.' + name);
                           names.insert(suite + ".*");
                       });
    }
    return names;
}

TEST(NamedTests, OfTheGuidesExist) {
    const std::regex named{R"(`([A-Z]\w*[a-z]\w*)\.(\w+|\*)`)"};
    const std::set<std::string> known = tests_that_exist();
    for (const char* const guide :
         {"docs/security.md", "docs/reliability.md", "docs/ko/from-the-texts.md",
          "docs/ko/move-from-locks.md", "tests/hostile/README.md"}) {
        std::size_t found = 0;
        for_each_match(text_of(source_folder / guide), named,
                       [&](const std::string& suite, const std::string& name) {
                           if (name == "txt" || name == "md") return;
                           ++found;
                           EXPECT_TRUE(known.contains(suite + '.' + name))
                               << guide << " names " << suite << '.' << name;
                       });
        EXPECT_GT(found, 0U) << guide;
    }
}

// The path of every file below the folders that have sources, and of the files beside them.
std::set<std::string> files_that_exist() {
    std::set<std::string> paths;
    for (const auto& beside : fs::directory_iterator{source_folder}) {
        const std::string name = beside.path().filename();
        if (beside.is_regular_file()) paths.insert(name);
        if (!beside.is_directory() || name == "build" || name == ".git") continue;
        for (const auto& entry : fs::recursive_directory_iterator{beside.path()}) {
            paths.insert(fs::relative(entry.path(), source_folder));
        }
    }
    return paths;
}

// Names such as `texts.js` and `waiting/waiting_room.cpp` are the ends of paths.
TEST(NamedFiles, OfTheContributorsGuidesExist) {
    const std::set<std::string> paths = files_that_exist();
    const auto exists = [&](const std::string& name) {
        return paths.contains(name) || std::ranges::any_of(paths, [&](const std::string& path) {
                   return path.ends_with('/' + name);
               });
    };
    const std::regex named{
        R"(`([\w./-]*[\w-]+(\.(?:hpp|cpp|java|js|ts|css|py|json|md|toml|yml|in)|/))`)"};
    for (const char* const guide :
         {"CONTRIBUTING.md", "docs/architecture.md", "docs/glossary.md", "src/core/README.md",
          "src/server/README.md", "src/cli/README.md"}) {
        std::size_t found = 0;
        for_each_match(text_of(source_folder / guide), named,
                       [&](std::string name, const std::string& end) {
                           ++found;
                           if (end == "/") name.pop_back();
                           EXPECT_TRUE(exists(name)) << guide << " names " << name;
                       });
        EXPECT_GT(found, 3U) << guide;
    }
}

// What docs/security.md says about the unit for systemd.
TEST(TheUnit, AllowsNoCoreDumpAndBoundsTheMemory) {
    const std::string unit = text_of(source_folder / "packaging/leasehold.service");
    EXPECT_TRUE(std::regex_search(unit, std::regex{"\nLimitCORE=0\n"}));
    EXPECT_TRUE(std::regex_search(unit, std::regex{"\nMemoryMax=[1-9][0-9]*[MG]\n"}));
}

}  // namespace
}  // namespace leasehold::docs
