#include "docs/pages_code.hpp"

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

PageApplication::PageApplication(const std::string& url, ::sqlite3* connection)
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

void PageApplication::render_form(const std::string& record, const std::string& lock_id) {
    written.push_back("form of " + record);
    form["lock_id"] = lock_id;
}

void SavingApplication::exec(::sqlite3*, const std::string& sql) {
    if (sql == "begin") {
        begin(db);
    } else if (sql == "commit") {
        commit(db);
    } else if (sql == "rollback") {
        rollback(db);
    } else {
        written.push_back(sql);
    }
}

WebApplication::WebApplication(const std::string& url, ::sqlite3* connection)
    : PageApplication{url, connection} {
    const auto lease = locks.try_lock({"Customer", "7"}, {.owner = visitor.owner_in(tab)});
    form["lock_id"] = lease.value().lock_id.to_string();
}

namespace {

// What all blocks of a page did, one after the other, each on a file of its own.
PageRun run_all(const Blocks& blocks) {
    PageRun all;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        const testing::TemporaryFolder folder;
        const std::string file = (folder.path() / "shop.db").string();
        ::sqlite3* db = nullptr;
        EXPECT_EQ(sqlite3_open(file.c_str(), &db), SQLITE_OK);
        sqlite3_busy_timeout(db, 5000);
        const PageRun run = blocks[i]("sqlite:" + file, db);
        EXPECT_NE(sqlite3_get_autocommit(db), 0) << "block " << i + 1 << " leaves a transaction";
        all.shown += run.shown;
        all.written.insert(all.written.end(), run.written.begin(), run.written.end());
        sqlite3_close(db);
    }
    return all;
}

using Written = std::vector<std::string>;

TEST(PagesWithCode, EveryBlockDoesItsWork) {
    std::map<std::string, Written> expected{
        {"docs/guarded-save.md", {"update orders set ..."}},
        {"docs/lock-types.md", {"PriceList/2026", "12 Elm Street", "report"}},
        {"docs/web-kit.md",
         {"form of Ama", "city: Kumasi", "name=Ama%20Boateng&city=Kumasi", "201"}},
        {"docs/ko/from-the-texts.md",
         {"report", "first", "second", "form of Order/1", "12 Elm Street", "form of Customer/7",
          "form of Customer/7", "Ama Boateng", "form of Address/70", "3 Oak Road"}},
    };
    for (const auto& [page, blocks] : code_of_the_pages()) {
        if (page == "docs/index.md") continue;
        const PageRun run = run_all(blocks);
        EXPECT_EQ(run.shown, "") << page;
        EXPECT_EQ(run.written, expected[page]) << page;
    }
}

TEST(PagesWithCode, TheFirstPageShowsTheHolder) {
    const PageRun run = run_all(code_of_the_pages().at("docs/index.md"));
    EXPECT_TRUE(run.shown.starts_with("Order/1 is held by alice")) << run.shown;
}

}  // namespace
}  // namespace leasehold::docs
