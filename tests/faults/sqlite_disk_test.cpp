// The disk under an SQLite file fails at every change, in one run for each.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <leasehold/open_store.hpp>

#include <filesystem>
#include <fstream>
#include <functional>
#include <vector>

#include "faults/databases.hpp"
#include "faults/fragile_disk.hpp"
#include "lab/aftermath.hpp"
#include "lab/client.hpp"
#include "lab/recorder.hpp"

namespace leasehold::faults {
namespace {

constexpr std::size_t keys_in_file = 3;

// Two clients send requests in turn, each with a store of its own on the file in `folder`, until
// the disk fails. Everything is recorded.
void ask_much(const std::filesystem::path& folder, std::size_t operations, std::uint64_t seed,
              const std::filesystem::path& record) {
    struct RecordedClient {
        lab::Client client;
        std::unique_ptr<Store> store;
    };
    std::vector<RecordedClient> both;
    const auto recorder = std::make_shared<lab::Recorder>(record);
    try {
        for (const std::string name : {"client 1", "client 2"}) {
            auto store = open_store("sqlite:" + (folder / "locks.db").string());
            both.push_back(
                {lab::Client{name, lab::some_keys(keys_in_file), seed + both.size()},
                 std::make_unique<lab::RecordingStore>(std::move(store), recorder, name)});
        }
    } catch (const StoreFault&) {
        return;
    }
    for (std::size_t i = 0; i < operations; ++i) {
        auto& [client, store] = both[i % both.size()];
        const Request request = client.next();
        Outcome outcome;
        try {
            store->apply({&request, 1}, {&outcome, 1});
        } catch (const StoreFault& fault) {
            outcome = fault;
        }
        (void)client.hear(request, outcome);
    }
}

lab::Aftermath aftermath_in(const std::filesystem::path& folder) {
    const auto store = open_store("sqlite:" + (folder / "locks.db").string());
    return lab::read_aftermath(*store, lab::some_keys(keys_in_file));
}

::testing::AssertionResult is_sound(const std::filesystem::path& folder) {
    sqlite3* raw = nullptr;
    sqlite3_open((folder / "locks.db").c_str(), &raw);
    const std::unique_ptr<sqlite3, decltype(&sqlite3_close)> db{raw, sqlite3_close};
    std::string verdict;
    const auto take = [](void* into, int, char** values, char**) {
        *static_cast<std::string*>(into) += values[0];
        return 0;
    };
    sqlite3_exec(raw, "pragma integrity_check", take, &verdict, nullptr);
    if (verdict == "ok") return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << verdict;
}

using Promise = FragileDisk::Promise;

struct Sweep {
    Promise promise = Promise::nothing;
    std::size_t operations = 40;
    // Every `stride`th change fails.
    std::size_t stride = 1;
    std::function<void(FragileDisk&, std::size_t change)> plan;
    std::function<void(const FragileDisk&, const std::filesystem::path& into, std::size_t change)>
        copy;
};

// Fails the first change, the second, and so on, until a run ends before its change comes. Returns
// the number of changes.
std::size_t sweep(const Sweep& options) {
    for (std::size_t change = 0;; change += options.stride) {
        const testing::TemporaryFolder before, after;
        const auto record = before.path() / "history";
        bool struck = false;
        {
            FragileDisk disk{options.promise};
            options.plan(disk, change);
            ask_much(before.path(), options.operations, change, record);
            struck = disk.has_struck();
            options.copy(disk, after.path(), change);
        }
        if (!struck) return change;
        EXPECT_TRUE(is_sound(after.path())) << "change " << change;
        std::ifstream in{record};
        const lab::Operations history = lab::read_history(in);
        const lab::Aftermath aftermath = aftermath_in(after.path());
        for (const lab::Violation& violation : lab::check(history, {}, &aftermath)) {
            ADD_FAILURE() << "change " << change << ": " << describe(violation);
        }
        if (::testing::Test::HasFailure()) return change;
    }
}

void die(FragileDisk& disk, std::size_t change) {
    disk.die_at(change);
}
void after_a_kill(const FragileDisk& disk, const std::filesystem::path& into, std::size_t) {
    disk.copy_after_a_kill(into);
}
void after_a_power_cut(const FragileDisk& disk, const std::filesystem::path& into,
                       std::size_t change) {
    disk.copy_after_a_power_cut(into, change);
}

class SqliteDisk : public DatabaseTest {
protected:
    static void expect_sweep(const std::string& what, Sweep options) {
        for (const Promise promise : {Promise::nothing, Promise::safe_overwrite}) {
            options.promise = promise;
            const std::size_t changes = sweep(options);
            std::cout << what << ": " << changes / options.stride << " runs of "
                      << options.operations << " operations\n";
            EXPECT_GT(changes, options.operations / 2);
        }
    }
};
INSTANTIATE_TEST_SUITE_P(, SqliteDisk, ::testing::Values(every_database().front()), by_store());

TEST_P(SqliteDisk, LosesNothingWhenTheProcessDiesAtAnyChange) {
    expect_sweep("killed", {.plan = die, .copy = after_a_kill});
}

TEST_P(SqliteDisk, LosesNothingWhenThePowerGoesAtAnyChange) {
    expect_sweep("power cut", {.plan = die, .copy = after_a_power_cut});
}

// Long enough for SQLite to move its log into the file.
TEST_P(SqliteDisk, LosesNothingWhenThePowerGoesAroundACheckpoint) {
    expect_sweep("power cut",
                 {.operations = 2000, .stride = 199, .plan = die, .copy = after_a_power_cut});
}

TEST_P(SqliteDisk, AnswersTruthfullyWhenAnyFlushFails) {
    expect_sweep("flush failed", {.plan =
                                      [](FragileDisk& disk, std::size_t change) {
                                          disk.fail_at(change, 2, FragileDisk::What::flushes,
                                                       SQLITE_IOERR_FSYNC);
                                      },
                                  .copy = after_a_kill});
}

TEST_P(SqliteDisk, AnswersTruthfullyWhenItIsFullForAWhile) {
    expect_sweep("disk full", {.plan =
                                   [](FragileDisk& disk, std::size_t change) {
                                       disk.fail_at(change, 20, FragileDisk::What::writes,
                                                    SQLITE_FULL);
                                   },
                               .copy = after_a_kill});
}

// Proves that these tests would notice a lost grant: a disk that reports flushes without doing them
// loses grants.
TEST_P(SqliteDisk, ThatLiesAboutItsFlushesIsCaught) {
    const testing::TemporaryFolder before, after;
    {
        FragileDisk disk;
        // One run makes the tables, which are flushed.
        ask_much(before.path(), 0, 1, before.path() / "nothing");
        disk.lie_about_flushes();
        ask_much(before.path(), 40, 1, before.path() / "history");
        disk.copy_after_a_power_cut(after.path(), 1);
    }
    std::ifstream in{before.path() / "history"};
    const lab::Operations history = lab::read_history(in);
    try {
        const lab::Aftermath aftermath = aftermath_in(after.path());
        EXPECT_FALSE(lab::check(history, {}, &aftermath).empty());
    } catch (const StoreFault&) {
        EXPECT_FALSE(is_sound(after.path()));
    }
}

}  // namespace
}  // namespace leasehold::faults
