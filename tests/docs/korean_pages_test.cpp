// The Korean pages show the code of the English ones, which other tests run, and their links lead
// somewhere.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace leasehold::docs {
namespace {

namespace fs = std::filesystem;

const fs::path sources = LEASEHOLD_SOURCES;

// A block of code, without the indentation of a list.
struct CodeBlock {
    std::string kind;  // "cpp"; empty for a drawing
    std::string code;

    friend bool operator==(const CodeBlock&, const CodeBlock&) = default;
};

struct KoreanPage {
    std::string text;  // without code
    std::vector<CodeBlock> blocks;
};

KoreanPage read_page(const fs::path& path) {
    std::ifstream file{path};
    EXPECT_TRUE(file) << path;
    KoreanPage page;
    bool in_block = false;
    for (std::string line; std::getline(file, line);) {
        const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
        if (line.compare(begin, 3, "```") == 0) {
            in_block = !in_block;
            if (in_block) page.blocks.push_back({.kind = line.substr(begin + 3), .code = {}});
        } else if (in_block) {
            page.blocks.back().code += line.substr(begin) + '\n';
        } else {
            page.text += line + '\n';
        }
    }
    EXPECT_FALSE(in_block) << path;
    return page;
}

std::vector<CodeBlock> code_in(const fs::path& path) {
    std::vector<CodeBlock> blocks = read_page(path).blocks;
    std::erase_if(blocks, [](const CodeBlock& block) { return block.kind.empty(); });
    return blocks;
}

const fs::path korean_docs = sources / "docs/ko";

std::vector<fs::path> korean_pages() {
    std::vector<fs::path> pages{sources / "README.ko.md"};
    for (const auto& entry : fs::recursive_directory_iterator{korean_docs}) {
        if (entry.path().extension() == ".md") pages.push_back(entry.path());
    }
    return pages;
}

fs::path english_of(const fs::path& page) {
    if (page.filename() == "README.ko.md") return sources / "README.md";
    return sources / "docs" / page.lexically_relative(korean_docs);
}

// What the languages must have in common, apart from code.
struct Structure {
    std::vector<std::size_t> headings;  // their levels
    std::vector<std::size_t> tables;    // their rows
    std::set<std::string> names;        // in backquotes
};

Structure structure_of(const fs::path& path) {
    Structure found;
    const std::string text = read_page(path).text;
    std::istringstream lines{text};
    bool in_table = false;
    for (std::string line; std::getline(lines, line);) {
        const std::size_t level = line.find_first_not_of('#');
        if (level > 0 && level != std::string::npos && line[level] == ' ') {
            found.headings.push_back(level);
        }
        const bool row = line.starts_with('|');
        if (row && !in_table) found.tables.push_back(0);
        if (row) ++found.tables.back();
        in_table = row;
    }
    const std::regex name{"`([^`]+)`"};
    const std::regex space{"\\s+"};
    for (std::sregex_iterator at{text.begin(), text.end(), name}, end; at != end; ++at) {
        found.names.insert(std::regex_replace((*at)[1].str(), space, " "));
    }
    return found;
}

TEST(KoreanPages, HaveTheCodeOfTheirEnglishPage) {
    std::size_t translated = 0;
    for (const fs::path& page : korean_pages()) {
        if (!fs::exists(english_of(page))) continue;
        ++translated;
        EXPECT_EQ(code_in(page), code_in(english_of(page))) << page;
    }
    EXPECT_GE(translated, 13U);
}

TEST(KoreanPages, HaveTheHeadingsTheTablesAndTheNamesOfTheirEnglishPage) {
    for (const fs::path& page : korean_pages()) {
        if (!fs::exists(english_of(page))) continue;
        // The tests in tests/browser/texts.test.js compare the glossaries.
        if (page.filename() == "glossary.md") continue;
        const Structure english = structure_of(english_of(page));
        const Structure korean = structure_of(page);
        EXPECT_EQ(korean.headings, english.headings) << page;
        // Korean names may be added, for example of code that the English page only describes.
        for (const std::string& name : english.names) {
            EXPECT_TRUE(korean.names.contains(name)) << page << " does not name " << name;
        }
        // README.ko.md lists the Korean pages in a table of their own.
        if (page.filename() == "README.ko.md") continue;
        EXPECT_EQ(korean.tables, english.tables) << page;
    }
}

// The pages of the site's parts "Start" and "Tutorials", by their paths in the repository.
std::vector<fs::path> pages_to_start_with() {
    std::vector<fs::path> pages;
    std::ifstream file{sources / "web/site/mkdocs.yml"};
    const std::regex page{R"(^      - .*?([\w/-]+\.md)$)"};
    bool wanted = false;
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("  - ")) wanted = line == "  - Start:" || line == "  - Tutorials:";
        std::smatch found;
        if (!wanted || !std::regex_match(line, found, page)) continue;
        const std::string path = found[1];
        if (path == "overview.md") {
            pages.push_back(sources / "README.ko.md");
        } else if (path == "tutorials/index.md") {
            pages.push_back(korean_docs / "tutorials/README.md");
        } else if (!path.starts_with("inside/")) {  // the list of changes
            pages.push_back(korean_docs / path);
        }
    }
    return pages;
}

TEST(KoreanPages, AreThereForEveryPageToStartWith) {
    const auto pages = pages_to_start_with();
    EXPECT_GE(pages.size(), 11U);
    for (const fs::path& page : pages) {
        EXPECT_TRUE(fs::exists(page)) << page;
        EXPECT_TRUE(fs::exists(english_of(page))) << english_of(page);
    }
}

// Shell commands are tested in docs_test.cpp, and the C++ of from-the-texts.md is compiled.
TEST(KoreanPages, WithoutAnEnglishPageTakeTheirCodeFromOthers) {
    std::vector<CodeBlock> known = code_in(sources / "README.md");
    for (const auto& entry : fs::recursive_directory_iterator{sources / "docs"}) {
        const std::string path = entry.path().string();
        if (!path.ends_with(".md") || path.starts_with(korean_docs.string())) continue;
        for (CodeBlock& block : code_in(entry.path())) known.push_back(std::move(block));
    }
    for (const fs::path& page : korean_pages()) {
        if (fs::exists(english_of(page))) continue;
        for (const CodeBlock& block : code_in(page)) {
            if (block.kind == "sh" || block.kind == "console") continue;
            if (block.kind == "cpp" && page.filename() == "from-the-texts.md") continue;
            EXPECT_NE(std::ranges::find(known, block), known.end()) << page << '\n' << block.code;
        }
    }
}

// As a link names a heading: lower case, "-" for a space, without punctuation. Korean stays.
std::string anchor_of(const std::string& heading) {
    std::string anchor;
    for (const char c : heading) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == ' ' || c == '-') {
            anchor += '-';
        } else if (byte >= 0x80 || std::isalnum(byte) != 0 || c == '_') {
            anchor += static_cast<char>(std::tolower(byte));
        }
    }
    return anchor;
}

std::set<std::string> anchors_in(const fs::path& path) {
    std::set<std::string> anchors;
    const std::string text = '\n' + read_page(path).text;
    const std::regex heading{"\n#+ ([^\n]+)"};
    for (std::sregex_iterator at{text.begin(), text.end(), heading}, end; at != end; ++at) {
        anchors.insert(anchor_of((*at)[1]));
    }
    return anchors;
}

TEST(KoreanPages, HaveLinksThatLeadSomewhere) {
    const std::regex link{R"(\]\(([^)#\s]*)(?:#([^)]*))?\))"};
    for (const fs::path& page : korean_pages()) {
        const std::string text = read_page(page).text;
        for (std::sregex_iterator at{text.begin(), text.end(), link}, end; at != end; ++at) {
            const std::string to = (*at)[1];
            const std::string anchor = (*at)[2];
            if (to.starts_with("http")) continue;
            const fs::path target = to.empty() ? page : page.parent_path() / to;
            EXPECT_TRUE(fs::exists(target)) << page << " links to " << to;
            if (anchor.empty() || !fs::exists(target)) continue;
            EXPECT_TRUE(anchors_in(target).contains(anchor)) << page << " links to #" << anchor;
        }
    }
}

TEST(KoreanPages, AreLinkedFromTheEnglishReadmeAndBack) {
    EXPECT_NE(read_page(sources / "README.md").text.find("](README.ko.md)"), std::string::npos);
    EXPECT_NE(read_page(sources / "README.ko.md").text.find("](README.md)"), std::string::npos);
}

}  // namespace
}  // namespace leasehold::docs
