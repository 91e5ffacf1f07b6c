#include <gtest/gtest.h>

#include <leasehold/stores/memory.hpp>
#include <leasehold/stores/sqlite.hpp>

#include <iostream>
#include <set>

#include "lab/catches.hpp"
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

// Two stores on one file, as two processes would have them.
Recording on_sqlite(std::uint64_t seed) {
    const testing::TemporaryFolder folder;
    const StoreOptions options{.max_clock_leap = std::chrono::hours{24 * 365}};
    return simulate({.seed = seed, .operations = 300, .servers = 2, .deadly_batches = 0},
                    [&](std::function<Time()> clock) {
                        return sqlite::open((folder.path() / "locks.db").string(), options,
                                            std::move(clock));
                    });
}

// The kind of run in which the bugs of a file become visible.
struct Stage {
    Recording (*run)(std::uint64_t seed);
    std::uint64_t seeds;
};

Stage stage_of(const std::string& file) {
    if (file == "core/rules.cpp") return {on_memory, 40};
    if (file.starts_with("core/")) return {on_simulated_database, 20};
    return {on_sqlite, 8};
}

Catches found_with(std::size_t bug, const Stage& stage) {
    Catches found;
    seeded_bug = bug;
    for (std::uint64_t seed = 1; seed <= stage.seeds; ++seed) {
        const Recording run = stage.run(seed);
        found.add(check(run.operations, {}, &run.aftermath));
    }
    seeded_bug = 0;
    return found;
}

TEST(SeededBugs, TheCopyWithoutABugIsClean) {
    for (const char* file : {"core/rules.cpp", "core/batcher.cpp", "stores/sqlite/rows.cpp"}) {
        const Catches found = found_with(0, stage_of(file));
        EXPECT_FALSE(found.any()) << file << ": " << found.to_string();
    }
}

TEST(SeededBugs, EveryOneIsCaught) {
    std::size_t caught = 0;
    std::set<std::string> rules;
    for (std::size_t bug = 1; bug <= seeded_bugs.size(); ++bug) {
        const auto& [name, file] = seeded_bugs[bug - 1];
        const Catches found = found_with(bug, stage_of(file));
        caught += found.any() ? 1 : 0;
        EXPECT_TRUE(found.any()) << bug << ": " << name;
        rules.insert(found.rules().begin(), found.rules().end());
        std::cout << bug << ". " << file << ": " << name << ": " << found.to_string() << '\n';
    }
    std::cout << caught << " of " << seeded_bugs.size() << " seeded bugs caught\n";
    EXPECT_GE(seeded_bugs.size(), 20U);
    for (const std::string& rule : rule_names()) {
        if (!rules.contains(rule)) std::cout << "no bug here shows itself by: " << rule << '\n';
    }
}

}  // namespace
}  // namespace leasehold::lab
