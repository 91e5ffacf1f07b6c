#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace leasehold::docs {

// A command of a page, and what the page says it prints.
struct Step {
    std::string command;
    std::string output;
    std::size_t line = 0;   // of the command, counted from 1
    std::size_t first = 0;  // the lines of the output: [first, last)
    std::size_t last = 0;
};

// A block of code, without the indentation of a list.
struct Block {
    std::string kind;  // "sh"; empty for a drawing
    std::string text{};
    std::size_t line = 0;  // its first, counted from 1
};

// A page of the documentation. The blocks of the kind `console` are executed: a line that begins
// with "$ " is a command, "> " continues it, and the others are what it prints.
class Page {
public:
    explicit Page(const std::filesystem::path& file);

    [[nodiscard]] const std::vector<Block>& blocks() const { return blocks_; }
    [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }
    // The lines of all blocks of the kind `sh`.
    [[nodiscard]] std::string shell() const;

    // With what was really printed, in the order of steps().
    void rewrite(const std::vector<std::string>& outputs) const;

private:
    std::filesystem::path file_;
    std::vector<std::string> lines_;
    std::vector<Step> steps_;
    std::vector<Block> blocks_;
};

// Whether the output is the one of the page, apart from lock ids, fences and times, which differ
// every time. "…" in a page matches anything within a line.
[[nodiscard]] bool says_the_same(const std::string& page, const std::string& real);

}  // namespace leasehold::docs
