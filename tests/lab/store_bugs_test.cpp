#include <gtest/gtest.h>

#include <leasehold/open_store.hpp>

#include <algorithm>
#include <fstream>
#include <functional>
#include <iostream>
#include <thread>
#include <utility>

#include "lab/aftermath.hpp"
#include "lab/catches.hpp"
#include "lab/client.hpp"
#include "lab/load.hpp"
#include "lab/real_stores.hpp"
#include "lab/seeded.hpp"
#include "lab/simulation.hpp"
#include "support/process.hpp"

namespace leasehold::lab {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t clean_runs = 4, most_runs = 200;
constexpr std::size_t enough_grants = 60;
constexpr Duration longest_pause = milliseconds{2};

// Loses answers all the time, and crashes the server in every second run, until there are enough
// grants to show a bug.
void disturb(RealStore& store, std::uint64_t seed, const std::function<std::size_t()>& grants) {
    const auto pause = store.between_lost_answers();
    const auto lost_in = [&](Duration time) { return static_cast<int>(time / pause); };
    const int enough = lost_in(milliseconds{1600}), at_most = lost_in(std::chrono::seconds{120});
    for (int i = 0; i < enough || (grants() < enough_grants && i < at_most); ++i) {
        store.gate().cut_before_answer();
        std::this_thread::sleep_for(pause);
        if (i == enough / 2 && seed % 2 == 0) store.crash();
    }
    store.gate().pass_everything();
}

Aftermath aftermath_in(const std::string& url, const std::vector<LockKey>& keys) {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::minutes{1};
    for (;;) {
        try {
            return read_aftermath(*open_store(url), keys);
        } catch (const StoreFault&) {
            if (std::chrono::steady_clock::now() > give_up) throw;
        }
        std::this_thread::sleep_for(milliseconds{10});
    }
}

// Some clients have a connection of their own, others share one.
Recording run(RealStore& store, std::uint64_t seed) {
    // Many keys with little contention, or few keys with much.
    const std::size_t keys = seed % 2 == 0 ? 100 : 3;
    const testing::TemporaryFolder folder;
    const std::string url = store.make();
    const auto each = folder.path() / "each", common = folder.path() / "common";
    {
        const Load alone{{.url = url,
                          .name = "alone",
                          .seed = seed,
                          .keys = keys,
                          .longest_pause = longest_pause,
                          .record = each}};
        const Load together{{.url = url,
                             .name = "together",
                             .seed = seed + 100,
                             .keys = keys,
                             .longest_pause = longest_pause,
                             .record = common,
                             .connections = LoadOptions::Connections::common}};
        const auto grants = [&] { return alone.grants() + together.grants(); };
        disturb(store, seed, grants);
        EXPECT_GE(grants(), enough_grants);
    }
    Recording recording;
    for (const auto& file : {each, common}) {
        std::ifstream in{file};
        std::ranges::move(read_history(in), std::back_inserter(recording.operations));
    }
    const std::size_t bug = std::exchange(seeded_bug, 0);
    recording.aftermath = aftermath_in(url, some_keys(keys));
    seeded_bug = bug;
    return recording;
}

class StoreBugs : public ::testing::TestWithParam<const char*> {
protected:
    std::unique_ptr<RealStore> store_ = start_real_store(GetParam());
};

INSTANTIATE_TEST_SUITE_P(, StoreBugs,
                         ::testing::Values("postgres", "distant", "mysql", "mariadb", "etcd", "http"),
                         [](const auto& store) { return std::string{store.param}; });

// The folder that has the store's code.
std::string code_of(const std::string& store) {
    if (store == "distant") return "postgres";
    return store == "mysql" ? "mariadb" : store;
}

TEST_P(StoreBugs, AreCaughtAndTheStoreWithoutThemIsClean) {
    const Expectations expected = store_->expectations();
    for (std::uint64_t seed = 1; seed <= clean_runs; ++seed) {
        const Recording clean = run(*store_, seed);
        for (const Violation& violation : check(clean.operations, expected, &clean.aftermath)) {
            ADD_FAILURE() << "seed " << seed << ": " << describe(violation);
        }
    }
    std::size_t bugs = 0, caught = 0;
    for (std::size_t bug = 1; bug <= seeded_bugs.size(); ++bug) {
        const auto& [name, folder] = seeded_bugs[bug - 1];
        if (folder != "stores/" + code_of(GetParam())) continue;
        Catches found;
        seeded_bug = bug;
        while (!found.any() && found.runs() < most_runs) {
            const Recording buggy = run(*store_, found.runs() + 1);
            found.add(check(buggy.operations, expected, &buggy.aftermath));
        }
        seeded_bug = 0;
        ++bugs;
        caught += found.any() ? 1 : 0;
        EXPECT_TRUE(found.any()) << bug << ": " << name;
        std::cout << bug << ". " << folder << ": " << name << ": " << found.to_string()
                  << std::endl;
    }
    std::cout << caught << " of " << bugs << " seeded bugs of " << GetParam() << " caught\n";
    EXPECT_GE(bugs, 3U);
}

}  // namespace
}  // namespace leasehold::lab
