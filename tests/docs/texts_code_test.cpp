#include "docs/texts_code.hpp"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <leasehold/stores/sqlite.hpp>

#include "support/process.hpp"

namespace leasehold::docs {
namespace {

void execute_on(::sqlite3* db, const char* sql) {
    if (sqlite3_exec(db, sql, nullptr, nullptr, nullptr) != SQLITE_OK) {
        throw std::runtime_error{sqlite3_errmsg(db)};
    }
}

}  // namespace

void CustomerTransaction::begin() {
    if (!begun_) execute_on(db_, "begin immediate");
    begun_ = true;
}

void CustomerTransaction::commit() {
    if (begun_) execute_on(db_, "commit");
    begun_ = false;
}

void CustomerTransaction::roll_back() {
    if (begun_) execute_on(db_, "rollback");
    begun_ = false;
}

Result<Lease> CustomerTransaction::guard(const LockKey& key, LockId lock_id) {
    begin();
    return sqlite::guard(db_, key, lock_id);
}

Result<Lease> CustomerTransaction::release(const LockKey& key, LockId lock_id) {
    return sqlite::release(db_, key, lock_id);
}

TextsApplication::TextsApplication(const std::string& url, ::sqlite3* connection)
    : store_url{url},
      db{connection},
      locks{open_store(url)},
      transaction{connection},
      repository{transaction} {
    const auto lease = locks.try_lock(order, {.owner = visitor.owner_in(tab)});
    form["lock_id"] = lease.value().lock_id.to_string();
    form["address"] = "12 Elm Street";
    form["name"] = "Ama Boateng";
}

void TextsApplication::render_form(const std::string& record, const std::string& lock_id) {
    written.push_back("form of " + record);
    form["lock_id"] = lock_id;
}

namespace {

TEST(TextsPage, EveryBlockOfItsCodeDoesItsWork) {
    const auto blocks = code_of_the_texts_page();
    ASSERT_GE(blocks.size(), 8U);
    std::vector<std::string> written;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        const testing::TemporaryFolder folder;
        const std::string file = (folder.path() / "shop.db").string();
        ::sqlite3* db = nullptr;
        ASSERT_EQ(sqlite3_open(file.c_str(), &db), SQLITE_OK);
        sqlite3_busy_timeout(db, 5000);
        const TextsRun run = blocks[i]("sqlite:" + file, db);
        EXPECT_EQ(run.shown, "") << "block " << i + 1;
        EXPECT_NE(sqlite3_get_autocommit(db), 0) << "block " << i + 1 << " leaves a transaction";
        written.insert(written.end(), run.written.begin(), run.written.end());
        sqlite3_close(db);
    }
    EXPECT_EQ(written,
              (std::vector<std::string>{"report", "first", "second", "form of Order/1",
                                        "12 Elm Street", "form of Customer/7", "form of Customer/7",
                                        "Ama Boateng", "form of Address/70", "3 Oak Road"}));
}

}  // namespace
}  // namespace leasehold::docs
