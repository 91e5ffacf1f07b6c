// The folders of src/server may include each other, and declare each other's classes, only along
// the arrows in its README.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold::testing {
namespace {

namespace fs = std::filesystem;

const fs::path folder = fs::path{LEASEHOLD_SOURCE_DIR} / "src/server";

// For each folder the folders that it may include. "base" is the files beside the folders, except
// for the server itself.
using Arrows = std::map<std::string, std::set<std::string>>;

// The lines "    folder → other other" of the README.
Arrows allowed_arrows(std::string_view arrow = "→") {
    constexpr std::string_view indent = "    ";
    Arrows arrows;
    std::ifstream readme{folder / "README.md"};
    for (std::string line; std::getline(readme, line);) {
        if (!line.starts_with(indent) || line.find(arrow) == std::string::npos) continue;
        std::istringstream words{line};
        std::string from;
        std::string word;
        words >> from >> word;
        if (word != arrow) continue;
        while (words >> word) arrows[from].insert(word);
    }
    return arrows;
}

std::string part_of(const std::string& path) {
    const std::size_t slash = path.find('/');
    if (slash != std::string::npos) return path.substr(0, slash);
    return path.starts_with("server.") ? "server" : "base";
}

// Calls the function with each line of each file, and the file's path.
template <class Function>
void for_each_line(Function function) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator{folder}) {
        const std::string extension = entry.path().extension();
        if (extension != ".hpp" && extension != ".cpp") continue;
        const std::string file = fs::relative(entry.path(), folder);
        std::ifstream source{entry.path()};
        for (std::string line; std::getline(source, line);) function(file, line);
    }
}

// A file of one folder uses another folder.
struct Use {
    std::string file;
    std::string from;
    std::string to;
    std::string what{};
};

std::vector<Use> includes() {
    constexpr std::string_view begin = "#include \"server/";
    std::vector<Use> found;
    for_each_line([&](const std::string& file, std::string line) {
        if (!line.starts_with(begin)) return;
        line = line.substr(begin.size(), line.find('"', begin.size()) - begin.size());
        found.push_back({file, part_of(file), part_of(line), line});
    });
    return found;
}

// The declarations of classes, structs and enums that are defined in another folder. Only what is
// declared in a namespace begins a line.
std::vector<Use> declarations() {
    const std::regex declaration{R"(^(?:class|struct|enum class) (\w+)(?: : [\w:]+)?;.*)"};
    const std::regex definition{R"(^(?:class|struct|enum class) (\w+)(?: final)?(?: :.*| \{.*)?)"};
    std::vector<Use> declared;
    std::map<std::string, std::set<std::string>> folders_of;  // by the name that they define
    for_each_line([&](const std::string& file, const std::string& line) {
        if (!line.starts_with("class") && !line.starts_with("struct") && !line.starts_with("enum"))
            return;
        std::smatch match;
        if (std::regex_match(line, match, declaration)) {
            declared.push_back({file, part_of(file), {}, match[1]});
        } else if (std::regex_match(line, match, definition)) {
            folders_of[match[1]].insert(part_of(file));
        }
    });
    std::vector<Use> found;
    for (const Use& one : declared) {
        const std::set<std::string>& homes = folders_of[one.what];
        if (homes.contains(one.from)) continue;
        for (const std::string& to : homes) found.push_back({one.file, one.from, to, one.what});
    }
    return found;
}

// Whether the arrows lead from one folder to another.
bool leads(const Arrows& arrows, const std::string& from, const std::string& to) {
    const auto direct = arrows.find(from);
    if (direct == arrows.end()) return false;
    for (const std::string& next : direct->second) {
        if (next == to || leads(arrows, next, to)) return true;
    }
    return false;
}

TEST(ServerFolders, IncludeEachOtherOnlyAlongTheArrows) {
    const Arrows arrows = allowed_arrows();
    ASSERT_GT(arrows.size(), 5U) << "the README has no arrows";
    const std::vector<Use> all = includes();
    ASSERT_GT(all.size(), 100U) << "no files were found";
    for (const Use& one : all) {
        if (one.from == one.to) continue;
        const auto from = arrows.find(one.from);
        EXPECT_TRUE(from != arrows.end() && from->second.contains(one.to))
            << one.file << " includes a file of " << one.to << ", but src/server/README.md has no "
            << "arrow " << one.from << " → " << one.to;
    }
}

TEST(ServerFolders, DeclareEachOthersClassesOnlyAlongTheArrows) {
    Arrows arrows = allowed_arrows();
    for (const auto& [from, targets] : allowed_arrows("⇢")) {
        arrows[from].insert(targets.begin(), targets.end());
    }
    const std::vector<Use> all = declarations();
    ASSERT_GT(all.size(), 5U) << "no declarations were found";
    for (const Use& one : all) {
        EXPECT_TRUE(arrows[one.from].contains(one.to))
            << one.file << " declares " << one.what << " of " << one.to
            << ", but src/server/README.md has no arrow " << one.from << " → " << one.to
            << " and no " << one.from << " ⇢ " << one.to;
    }
}

TEST(ServerFolders, HaveNoArrowThatIsNotUsed) {
    const auto expect_use = [](const std::vector<Use>& all, std::string_view arrow) {
        for (const auto& [from, targets] : allowed_arrows(arrow)) {
            for (const std::string& to : targets) {
                const bool used = std::ranges::any_of(
                    all, [&](const Use& one) { return one.from == from && one.to == to; });
                EXPECT_TRUE(used) << "src/server/README.md has an arrow " << from << ' ' << arrow
                                  << ' ' << to << " that no file needs";
            }
        }
    };
    expect_use(includes(), "→");
    expect_use(declarations(), "⇢");
}

TEST(ServerFolders, DependOnEachOtherInOneDirection) {
    const Arrows arrows = allowed_arrows();
    Arrows so_far;
    for (const auto& [from, targets] : arrows) {
        for (const std::string& to : targets) {
            ASSERT_FALSE(to == from || leads(so_far, to, from))
                << "a circle through " << from << " → " << to;
            so_far[from].insert(to);
        }
    }
}

}  // namespace
}  // namespace leasehold::testing
