#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <leasehold/lock_manager.hpp>
#include <leasehold/open_store.hpp>
#include <string>

#include "unit/waiting.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

const LockKey stored_key{"Order", "1"};

class OpenStoreTest : public ::testing::Test {
protected:
    OpenStoreTest() {
        std::string name = (fs::temp_directory_path() / "leasehold-unit-XXXXXX").string();
        if (mkdtemp(name.data()) == nullptr) throw std::runtime_error{"no temporary folder"};
        folder = name;
    }
    ~OpenStoreTest() override {
        std::error_code ignored;
        fs::remove_all(folder, ignored);
    }

    [[nodiscard]] std::string sqlite_url() const { return "sqlite:" + (folder / "a.db").string(); }

    fs::path folder;
};

std::string problem_of_opening(const std::string& url) {
    try {
        (void)open_store(url);
    } catch (const BadRequest& bad) {
        return bad.what();
    }
    return "";
}

// How a refusal explains the end of a lease after somebody else has taken the key.
Gone told_after_the_next_grant(const std::string& url) {
    LockManager locks{open_store(url)};
    const auto alice = locks.try_lock(stored_key, {.owner = "alice"});
    (void)locks.release(stored_key, alice.value().lock_id);
    (void)locks.try_lock(stored_key, {.owner = "bob"}).value();
    return locks.check(stored_key, alice->lock_id).error().reason;
}

TEST_F(OpenStoreTest, OpensAStoreInMemory) {
    LockManager locks{open_store("memory:")};
    EXPECT_EQ(locks.status().name, "memory");
    EXPECT_TRUE(locks.try_lock(stored_key));
}

TEST_F(OpenStoreTest, OpensAnSqliteFileAndMakesItsTables) {
    LockId alices;
    {
        LockManager locks{open_store(sqlite_url())};
        EXPECT_TRUE(locks.status().name.starts_with("sqlite ")) << locks.status().name;
        alices = locks.try_lock(stored_key, {.owner = "alice"}).value().lock_id;
    }
    LockManager again{open_store(sqlite_url())};
    EXPECT_TRUE(again.check(stored_key, alices));
    EXPECT_FALSE(again.try_lock(stored_key, {.owner = "bob"}));
}

TEST_F(OpenStoreTest, RefusesAKindItDoesNotHaveAndNamesThoseItHas) {
    const std::string text = problem_of_opening("oracle://host/db");
    EXPECT_TRUE(text.starts_with("no store for 'oracle:'; this build has memory:, sqlite:path"))
        << text;
    EXPECT_NE(problem_of_opening("SQLITE:a.db"), "");
}

TEST_F(OpenStoreTest, RefusesAUrlItCannotRead) {
    for (const char* bad : {"", "memory", "sqlite:", "memory:?history=maybe", "memory:?colour=red",
                            "sqlite:a.db?retention_s=soon", "sqlite:%"}) {
        EXPECT_NE(problem_of_opening(bad), "") << bad;
    }
}

TEST_F(OpenStoreTest, AFileThatCannotBeOpenedIsAFaultThatNamesIt) {
    const std::string path = (folder / "missing" / "a.db").string();
    try {
        (void)open_store("sqlite:" + path);
        FAIL() << "it was opened";
    } catch (const StoreFault& fault) {
        EXPECT_EQ(fault.effect(), StoreFault::Effect::none);
        EXPECT_EQ(fault.cause(), StoreFault::Cause::configuration);
        EXPECT_NE(std::string{fault.what()}.find(path), std::string::npos) << fault.what();
    }
}

TEST_F(OpenStoreTest, StrictDurabilityTakesSqliteAndRefusesMemory) {
    const auto strict = open_store(sqlite_url() + "?durability=strict");
    EXPECT_EQ(strict->status().durability, Durability::strong);
    try {
        (void)open_store("memory:?durability=strict");
        FAIL() << "it was opened";
    } catch (const StoreFault& fault) {
        EXPECT_EQ(fault.cause(), StoreFault::Cause::configuration);
        EXPECT_EQ(fault.effect(), StoreFault::Effect::none);
    }
}

TEST_F(OpenStoreTest, WithoutHistoryAnEndingIsToldOnlyUntilTheNextGrant) {
    EXPECT_EQ(told_after_the_next_grant("memory:"), Gone::released);
    EXPECT_EQ(told_after_the_next_grant("memory:?history=off"), Gone::unknown);
    EXPECT_EQ(told_after_the_next_grant(sqlite_url()), Gone::released);
    EXPECT_EQ(told_after_the_next_grant("sqlite:" + (folder / "b.db").string() + "?history=off"),
              Gone::unknown);
}

TEST_F(OpenStoreTest, TheRetentionSaysHowLongEndedLeasesAreRemembered) {
    for (const std::string& url : {std::string{"memory:"}, sqlite_url()}) {
        LockManager locks{open_store(url + "?retention_s=1")};
        const auto lease = locks.try_lock(stored_key, {.owner = "alice"});
        ASSERT_TRUE(locks.release(stored_key, lease.value().lock_id));
        EXPECT_EQ(locks.history({.key = stored_key}).size(), 1U) << url;
        EXPECT_TRUE(eventually([&] {
            locks.purge();
            return locks.history({.key = stored_key}).empty();
        })) << url;
    }
}

TEST_F(OpenStoreTest, TheUrlOverridesTheOptions) {
    const StoreOptions strict{.require = StoreOptions::Require::strict_durability};
    EXPECT_NO_THROW((void)open_store("memory:?durability=any", strict));
}

}  // namespace
}  // namespace leasehold::testing
