#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "lab/checker.hpp"

namespace leasehold::lab {

// Which rules found a seeded bug, and in how many runs.
class Catches {
public:
    void add(const std::vector<Violation>& violations);

    [[nodiscard]] std::size_t runs() const { return runs_; }
    [[nodiscard]] bool any() const { return !rules_.empty(); }
    [[nodiscard]] const std::set<std::string>& rules() const { return rules_; }
    // "in 3 of 8 runs (fence not unique, dead lives)"
    [[nodiscard]] std::string to_string() const;

private:
    std::size_t runs_ = 0;
    std::size_t runs_with_any_ = 0;
    std::set<std::string> rules_;
};

}  // namespace leasehold::lab
