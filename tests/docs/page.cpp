#include "docs/page.hpp"

#include <algorithm>
#include <fstream>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace leasehold::docs {
namespace {

constexpr std::string_view anything = "…";

std::vector<std::string> lines_of(std::istream& in) {
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

std::vector<std::string> lines_of(const std::string& text) {
    std::istringstream in{text};
    return lines_of(in);
}

void add_line(std::string& text, std::string_view line) {
    if (!text.empty()) text += '\n';
    text += line;
}

std::string without_what_varies(std::string line) {
    static const std::vector<std::pair<std::regex, std::string>> varying{
        {std::regex{"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"}, "LOCK-ID"},
        {std::regex{R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z)"}, "TIME"},
        {std::regex{R"(\b\d{15,17}\b)"}, "FENCE"},
        {std::regex{R"(("remaining_ms": ?)[0-9.]+)"}, "$1MS"},
        {std::regex{"^Date: .*"}, "Date: DATE"},
        {std::regex{"^Content-Length: .*"}, "Content-Length: BYTES"},
        {std::regex{R"(\b\d\d:\d\d:\d\d\b)"}, "CLOCK"},
        {std::regex{R"(\b\d{4}-\d\d-\d\d\b)"}, "DAY"},
        {std::regex{R"(\b(\d+(\.\d+)?(d|h|ms|m|s))+\b)"}, "SPAN"},
        {std::regex{R"(\bsqlite \d+\.\d+\.\d+)"}, "sqlite VERSION"},
        {std::regex{" +"}, " "},
    };
    if (line.ends_with('\r')) line.pop_back();
    for (const auto& [pattern, word] : varying) line = std::regex_replace(line, pattern, word);
    while (line.ends_with(' ')) line.pop_back();
    return line;
}

bool fits(std::string_view wanted, std::string_view real) {
    const std::size_t gap = wanted.find(anything);
    if (gap == std::string_view::npos) return wanted == real;
    if (!real.starts_with(wanted.substr(0, gap))) return false;
    const std::string_view rest = wanted.substr(gap + anything.size());
    for (std::size_t at = gap; at <= real.size(); ++at) {
        if (fits(rest, real.substr(at))) return true;
    }
    return false;
}

}  // namespace

Page::Page(const std::filesystem::path& file) : file_{file} {
    std::ifstream in{file};
    if (!in) throw std::runtime_error{"cannot read " + file.string()};
    lines_ = lines_of(in);
    bool in_block = false;
    std::size_t indent = 0;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
        const std::size_t begin = std::min(lines_[i].find_first_not_of(' '), lines_[i].size());
        if (lines_[i].compare(begin, 3, "```") == 0) {
            in_block = !in_block;
            indent = begin;
            if (in_block) blocks_.push_back({.kind = lines_[i].substr(begin + 3), .line = i + 2});
            continue;
        }
        if (!in_block) continue;
        const std::string line = lines_[i].substr(std::min(begin, indent));
        blocks_.back().text += line + '\n';
        if (blocks_.back().kind != "console") continue;
        if (line.starts_with("$ ")) {
            steps_.push_back({.command = line.substr(2),
                              .output = {},
                              .line = i + 1,
                              .first = i + 1,
                              .last = i + 1});
        } else if (steps_.empty()) {
            throw std::runtime_error{file.string() + " shows what no command prints"};
        } else if (line.starts_with("> ") && steps_.back().last == i) {
            add_line(steps_.back().command, line.substr(2));
            steps_.back().first = steps_.back().last = i + 1;
        } else {
            add_line(steps_.back().output, line);
            steps_.back().last = i + 1;
        }
    }
    if (in_block) throw std::runtime_error{file.string() + " ends in a block of code"};
}

std::string Page::shell() const {
    std::string shell;
    for (const Block& block : blocks_) {
        if (block.kind == "sh") shell += block.text;
    }
    return shell;
}

void Page::rewrite(const std::vector<std::string>& outputs) const {
    std::ofstream out{file_};
    std::size_t next = 0;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
        const Step& step = steps_[i];
        for (; next < step.first; ++next) out << lines_[next] << '\n';
        const bool fine = says_the_same(step.output, outputs.at(i));
        for (std::string line : lines_of(fine ? step.output : outputs.at(i))) {
            if (line.ends_with('\r')) line.pop_back();
            out << line << '\n';
        }
        next = step.last;
    }
    for (; next < lines_.size(); ++next) out << lines_[next] << '\n';
}

bool says_the_same(const std::string& page, const std::string& real) {
    const auto wanted = lines_of(page);
    const auto given = lines_of(real);
    if (wanted.size() != given.size()) return false;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (!fits(without_what_varies(wanted[i]), without_what_varies(given[i]))) return false;
    }
    return true;
}

}  // namespace leasehold::docs
