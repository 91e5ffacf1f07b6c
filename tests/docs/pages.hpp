#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace leasehold::docs {

// All pages of the documentation, relative to the sources: "docs/http.md".
[[nodiscard]] std::vector<std::string> all_pages();

// What proves the blocks of one kind on one page, where the tests of this folder do not do it for
// all pages: they execute `console`, let a shell read `sh`, and parse `json`.
struct BlockRule {
    std::string_view page;
    std::string_view kind;
    std::string_view test{};     // the file that compiles or runs them
    std::string_view why_not{};  // why nothing does
};

[[nodiscard]] const BlockRule* find_rule(std::string_view page, std::string_view kind);

}  // namespace leasehold::docs
