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

// A page of the documentation. What stands in its blocks of the kind `console` is executed: a line
// that begins with "$ " is a command, "> " continues it, and the others are what it prints.
class Page {
public:
    explicit Page(const std::filesystem::path& file);

    [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }
    // The lines of all blocks of the kind `sh`.
    [[nodiscard]] const std::string& shell() const { return shell_; }

    // With what was really printed, in the order of steps().
    void rewrite(const std::vector<std::string>& outputs) const;

private:
    std::filesystem::path file_;
    std::vector<std::string> lines_;
    std::vector<Step> steps_;
    std::string shell_;
};

// Whether this is what the page says, but for what is different every time: lock ids, fences, times
// and what is left of them. "…" in a page stands for anything within a line.
[[nodiscard]] bool says_the_same(const std::string& page, const std::string& real);

}  // namespace leasehold::docs
