#include <gtest/gtest.h>

#include <leasehold/stores/memory.hpp>
#include <leasehold/stores/sqlite.hpp>

#include <iostream>
#include <map>

#include "lab/seeded.hpp"
#include "lab/simulation.hpp"
#include "support/process.hpp"

namespace leasehold::lab {
namespace {

Recording on_memory(std::uint64_t seed) {
    return simulate({.seed = seed},
                    [](std::function<Time()> clock) { return memory::open({}, std::move(clock)); });
}

Recording on_simulated_database(std::uint64_t seed) {
    return simulate_servers({.seed = seed});
}

// Two processes, as it were, on one file.
Recording on_sqlite(std::uint64_t seed) {
    const testing::TemporaryFolder folder;
    const StoreOptions options{.max_clock_leap = std::chrono::hours{24 * 365}};
    return simulate({.seed = seed, .operations = 300, .servers = 2, .deadly_batches = 0},
                    [&](std::function<Time()> clock) {
                        return sqlite::open((folder.path() / "locks.db").string(), options,
                                            std::move(clock));
                    });
}

// Where bugs of a file show themselves.
struct Stage {
    Recording (*run)(std::uint64_t seed);
    std::uint64_t seeds;
};

Stage stage_of(const std::string& file) {
    if (file == "core/rules.cpp") return {on_memory, 40};
    if (file.starts_with("core/")) return {on_simulated_database, 20};
    return {on_sqlite, 8};
}

// How many of the runs the checker finds something in, by rule.
std::map<std::string, std::size_t> found_with(std::size_t bug, const Stage& stage) {
    std::map<std::string, std::size_t> found;
    seeded_bug = bug;
    for (std::uint64_t seed = 1; seed <= stage.seeds; ++seed) {
        const Recording run = stage.run(seed);
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
    for (const char* file : {"core/rules.cpp", "core/batcher.cpp", "stores/sqlite/rows.cpp"}) {
        for (const auto& [rule, count] : found_with(0, stage_of(file))) {
            ADD_FAILURE() << file << ": " << rule << " in " << count << " runs";
        }
    }
}

TEST(SeededBugs, EveryOneIsCaught) {
    std::size_t caught = 0;
    std::map<std::string, std::size_t> by_rule;
    for (std::size_t bug = 1; bug <= seeded_bugs.size(); ++bug) {
        const auto& [name, file] = seeded_bugs[bug - 1];
        const Stage stage = stage_of(file);
        const auto found = found_with(bug, stage);
        const bool any = found.contains("any");
        caught += any ? 1 : 0;
        EXPECT_TRUE(any) << bug << ": " << name;
        std::cout << bug << ". " << file << ": " << name << ": in " << (any ? found.at("any") : 0)
                  << " of " << stage.seeds << " runs (";
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
