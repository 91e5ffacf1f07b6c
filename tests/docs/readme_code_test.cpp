#include "docs/readme_code.hpp"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <leasehold/leasehold.hpp>

#include "support/process.hpp"

namespace leasehold::docs {
namespace {

class ReadmeCode : public ::testing::Test {
protected:
    ReadmeCode() {
        EXPECT_EQ(sqlite3_open(file_.c_str(), &db_), SQLITE_OK);
        sqlite3_busy_timeout(db_, 5000);
    }
    ~ReadmeCode() override { sqlite3_close(db_); }

    void use() {
        LockManager prepared{open_store(url())};  // makes the tables
        execute("create table orders (address text)");
        use_as_in_readme(url(), db_, application_);
    }
    void execute(const char* sql) {
        EXPECT_EQ(sqlite3_exec(db_, sql, nullptr, nullptr, nullptr), SQLITE_OK)
            << sqlite3_errmsg(db_);
    }
    [[nodiscard]] std::string url() const { return "sqlite:" + file_; }
    [[nodiscard]] bool in_transaction() const { return sqlite3_get_autocommit(db_) == 0; }

    int updates_ = 0;
    Application application_{.begin = [this] { execute("begin immediate"); },
                             .update = [this] { ++updates_; },
                             .rollback = [this] { execute("rollback"); },
                             .commit = [this] { execute("commit"); }};

private:
    testing::TemporaryFolder folder_;
    std::string file_ = (folder_.path() / "shop.db").string();
    ::sqlite3* db_ = nullptr;
};

TEST_F(ReadmeCode, SavesAndReleases) {
    use();
    EXPECT_EQ(application_.shown, "");
    EXPECT_EQ(updates_, 1);
    EXPECT_FALSE(in_transaction());
    EXPECT_TRUE(LockManager{open_store(url())}.try_lock({"Order", "1"}, {.owner = "bob"}));
}

TEST_F(ReadmeCode, WritesNothingAndLeavesNoTransactionOpenWhereTheGuardRefuses) {
    application_.begin = [this] {
        LockManager{open_store(url())}.release_all("alice", OwnerScope::below);
        execute("begin immediate");
    };
    use();
    EXPECT_NE(application_.shown, "");
    EXPECT_EQ(updates_, 0);
    EXPECT_FALSE(in_transaction());
}

TEST_F(ReadmeCode, ShowsWhoHasTheLock) {
    LockManager locks{open_store(url())};
    ASSERT_TRUE(locks.try_lock({"Order", "1"}, {.owner = "bob"}));
    use();
    EXPECT_NE(application_.shown.find("bob"), std::string::npos) << application_.shown;
    EXPECT_EQ(updates_, 0);
}

}  // namespace
}  // namespace leasehold::docs
