#include <gtest/gtest.h>

#include <leasehold/stores/memory.hpp>

#include <iostream>
#include <map>

#include "lab/seeded.hpp"
#include "lab/simulation.hpp"

namespace leasehold::lab {
namespace {

constexpr std::uint64_t seeds_per_bug = 40;

// How many of the runs the checker finds something in, by rule.
std::map<std::string, std::size_t> found_with(std::size_t bug) {
    std::map<std::string, std::size_t> found;
    seeded_bug = bug;
    for (std::uint64_t seed = 1; seed <= seeds_per_bug; ++seed) {
        const Recording run = simulate({.seed = seed}, [](std::function<Time()> clock) {
            return memory::open({}, std::move(clock));
        });
        std::map<std::string, std::size_t> here;
        for (const Violation& violation : check(run.operations, {}, &run.aftermath)) {
            here[violation.rule] = 1;
        }
        if (!here.empty()) ++found["any"];
        for (const auto& [rule, once] : here) ++found[rule];
    }
    seeded_bug = 0;
    return found;
}

TEST(SeededBugs, TheCopyWithoutABugIsClean) {
    EXPECT_TRUE(found_with(0).empty());
}

TEST(SeededBugs, EveryOneIsCaught) {
    std::size_t caught = 0;
    std::map<std::string, std::size_t> by_rule;
    for (std::size_t bug = 1; bug <= seeded_bugs.size(); ++bug) {
        const auto found = found_with(bug);
        const bool any = found.contains("any");
        caught += any ? 1 : 0;
        EXPECT_TRUE(any) << bug << ": " << seeded_bugs[bug - 1];
        std::cout << bug << ". " << seeded_bugs[bug - 1] << ": in " << (any ? found.at("any") : 0)
                  << " of " << seeds_per_bug << " runs (";
        const char* separator = "";
        for (const auto& [rule, count] : found) {
            if (rule == "any") continue;
            by_rule[rule] += count;
            std::cout << separator << rule;
            separator = ", ";
        }
        std::cout << ")\n";
    }
    std::cout << caught << " of " << seeded_bugs.size() << " seeded bugs caught\n";
    EXPECT_GE(seeded_bugs.size(), 20U);
    for (const std::string& rule : rule_names()) {
        if (!by_rule.contains(rule)) std::cout << "no bug here shows itself by: " << rule << '\n';
    }
}

}  // namespace
}  // namespace leasehold::lab
