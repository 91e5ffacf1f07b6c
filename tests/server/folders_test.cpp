// The folders of src/server may include each other only along the arrows in its README.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
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
Arrows allowed_arrows() {
    constexpr std::string_view indent = "    ";
    constexpr std::string_view arrow = "→";
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

struct Include {
    std::string file;
    std::string from;
    std::string to;
};

std::vector<Include> includes() {
    constexpr std::string_view begin = "#include \"server/";
    std::vector<Include> found;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator{folder}) {
        const std::string extension = entry.path().extension();
        if (extension != ".hpp" && extension != ".cpp") continue;
        const std::string file = fs::relative(entry.path(), folder);
        std::ifstream source{entry.path()};
        for (std::string line; std::getline(source, line);) {
            if (!line.starts_with(begin)) continue;
            line = line.substr(begin.size(), line.find('"', begin.size()) - begin.size());
            found.push_back({file, part_of(file), part_of(line)});
        }
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
    const std::vector<Include> all = includes();
    ASSERT_GT(all.size(), 100U) << "no files were found";
    for (const Include& one : all) {
        if (one.from == one.to) continue;
        const auto from = arrows.find(one.from);
        EXPECT_TRUE(from != arrows.end() && from->second.contains(one.to))
            << one.file << " includes a file of " << one.to << ", but src/server/README.md has no "
            << "arrow " << one.from << " → " << one.to;
    }
}

TEST(ServerFolders, HaveNoArrowThatIsNotUsed) {
    const std::vector<Include> all = includes();
    for (const auto& [from, targets] : allowed_arrows()) {
        for (const std::string& to : targets) {
            const bool used = std::ranges::any_of(
                all, [&](const Include& one) { return one.from == from && one.to == to; });
            EXPECT_TRUE(used) << "src/server/README.md has an arrow " << from << " → " << to
                              << " that no file needs";
        }
    }
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
