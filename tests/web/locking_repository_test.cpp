#include <leasehold/web/locking_repository.hpp>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <future>

#include <leasehold/stores/sqlite.hpp>

#include "core/retry.hpp"
#include "support/process.hpp"
#include "unit/gated_store.hpp"

// The implicit lock over a repository on a real SQLite file.
namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

class Database {
public:
    explicit Database(const std::string& path) {
        sqlite3_open(path.c_str(), &db_);
        sqlite3_busy_timeout(db_, 60'000);
    }
    Database(const Database&) = delete;
    Database& operator=(const Database&) = delete;
    ~Database() { sqlite3_close(db_); }

    // The first field of the last row.
    std::string run(const std::string& sql) {
        std::string value;
        const auto keep = [](void* to, int, char** fields, char**) {
            *static_cast<std::string*>(to) = fields[0];
            return 0;
        };
        EXPECT_EQ(sqlite3_exec(db_, sql.c_str(), keep, &value, nullptr), SQLITE_OK)
            << sqlite3_errmsg(db_);
        return value;
    }
    [[nodiscard]] int changes() const { return sqlite3_changes(db_); }
    [[nodiscard]] sqlite3* handle() const { return db_; }

private:
    sqlite3* db_ = nullptr;
};

TEST(LockRule, AllowsTheModesThatReadingAndWritingNeed) {
    const auto modes_of = [](LockType type) {
        const web::LockRule rule{.type = "Order", .lock_type = type};
        EXPECT_FALSE(web::allows(rule, {"Payroll", "1"}, Mode::exclusive));
        return std::pair{web::allows(rule, {"Order", "1"}, Mode::shared),
                         web::allows(rule, {"Order", "1"}, Mode::exclusive)};
    };
    EXPECT_EQ(modes_of(LockType::exclusive_write), std::pair(false, true));
    EXPECT_EQ(modes_of(LockType::exclusive_read), std::pair(false, true));
    EXPECT_EQ(modes_of(LockType::read_write), std::pair(true, true));
}

class Transaction {
public:
    explicit Transaction(Database& database) : database_{database} {}

    void begin() {
        if (!std::exchange(begun_, true)) database_.run("begin immediate");
    }
    [[nodiscard]] bool has_begun() const { return begun_; }
    Result<Lease> guard(const LockKey& key, LockId lock_id) {
        begin();
        return sqlite::guard(database_.handle(), key, lock_id);
    }
    Result<Lease> release(const LockKey& key, LockId lock_id) {
        return sqlite::release(database_.handle(), key, lock_id);
    }
    void roll_back() {
        if (std::exchange(begun_, false)) database_.run("rollback");
    }
    void commit() {
        if (std::exchange(begun_, false)) database_.run("commit");
    }

    Database& database_;

private:
    bool begun_ = false;
};

struct Order {
    std::string text{};
    int version = 0;
};

class Orders {
public:
    using Record = Order;

    explicit Orders(Transaction& transaction) : transaction_{transaction} {}

    std::optional<Order> find(const std::string& id) {
        transaction_.begin();
        const std::string where = " from orders where id = " + id;
        if (transaction_.database_.run("select count(*)" + where) == "0") return {};
        return Order{.text = transaction_.database_.run("select text" + where),
                     .version = std::stoi(transaction_.database_.run("select version" + where))};
    }
    bool update(const Order& order, const Lease& lease) {
        transaction_.database_.run(
            "update orders set text = '" + order.text + "', version = version + 1, by = '" +
            std::string{web::user_of(lease.owner)} + "' where id = " + std::string{lease.key.id()} +
            " and version = " + std::to_string(order.version));
        return transaction_.database_.changes() == 1;
    }

private:
    Transaction& transaction_;
};

class LockingRepositoryTest : public ::testing::Test {
protected:
    LockingRepositoryTest() {
        database.run("create table orders (id integer, text text, version integer, by text)");
        database.run("insert into orders values (1, 'old', 1, '')");
    }

    // One request of a tab.
    struct Step {
        Step(LockingRepositoryTest& test, const web::Visitor& visitor, LockType type,
             const char* tab = "t")
            : transaction{test.database},
              tab_locks{test.locks, visitor, tab, 1min},
              orders{repository,
                     tab_locks,
                     transaction,
                     {.type = "Order", .lock_type = type, .root_of = [](const LockKey& member) {
                          return member.type() == "Item" ? LockKey{"Order", "1"} : member;
                      }}} {}

        Transaction transaction;
        web::TabLocks tab_locks;
        Orders repository{transaction};
        web::LockingRepository<Orders, Transaction> orders;
    };
    [[nodiscard]] Step step(const web::Visitor& visitor, LockType type = LockType::exclusive_write,
                            const char* tab = "t") {
        return Step{*this, visitor, type, tab};
    }
    // Opens the order in a request of its own.
    LockId opened_by(const web::Visitor& visitor) {
        auto opening = step(visitor);
        const auto opened = opening.orders.open(order, Access::write);
        opening.transaction.commit();
        opening.tab_locks.keep();
        return opened->lease->lock_id;
    }
    [[nodiscard]] bool is_free() { return locks.holders(order).empty(); }

    TemporaryFolder folder;
    GatedStore* store = new GatedStore{sqlite::open(folder.path() / "orders.db")};  // no watch
    LockManager locks{std::unique_ptr<Store>{store}};
    Database database{folder.path() / "orders.db"};
    const LockKey order{"Order", "1"};
    const web::Visitor kim{"Kim", "s-1"};
    const web::Visitor lee{"Lee", "s-2"};
};

TEST_F(LockingRepositoryTest, LocksLoadsGuardsSavesAndReleases) {
    const LockId lock_id = opened_by(kim);
    EXPECT_FALSE(is_free());
    auto refused = step(lee);
    const auto second = refused.orders.open(order, Access::write);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().holders.at(0).owner, "Kim/s-1/t");

    auto saving = step(kim);
    const auto loaded = saving.orders.resume("1", lock_id);
    ASSERT_TRUE(loaded && *loaded);
    EXPECT_EQ((*loaded)->text, "old");
    EXPECT_TRUE(saving.orders.save("1", {"new", (*loaded)->version}, lock_id));
    saving.transaction.commit();
    EXPECT_TRUE(is_free());
    EXPECT_EQ(database.run("select text || by || version from orders"), "newKim2");
}

TEST_F(LockingRepositoryTest, ASaveHandsTheLockToTheNextThatWaits) {
    // A waiter that is not woken has the lock after half of the longest pause at the earliest. On a
    // busy machine one that is woken may be as late, but not every time.
    bool at_once = false;
    for (int version = 1; version <= 10 && !at_once; ++version) {
        const LockId lock_id = opened_by(kim);
        const std::size_t before = store->batch_sizes().size();
        auto next = std::async(std::launch::async,
                               [&] { return locks.lock_for(order, 1h, {.owner = "Lee"}); });
        const auto tries = [&] { return store->batch_sizes().size() - before; };
        ASSERT_TRUE(eventually([&] { return tries() >= 7; }));  // its pauses have become long
        const auto last_try = SteadyClock::now();
        auto saving = step(kim);
        ASSERT_TRUE(saving.orders.save("1", {"new", version}, lock_id));
        saving.transaction.commit();
        saving.tab_locks.keep();
        const Lease granted = next.get().value();
        at_once = SteadyClock::now() - last_try < retries::held_lock.longest_pause / 2 - 50ms;
        EXPECT_EQ(granted.owner, "Lee");
        ASSERT_TRUE(locks.release(order, granted.lock_id));
    }
    EXPECT_TRUE(at_once);
}

TEST_F(LockingRepositoryTest, ASaveWithoutTheLockWritesNothing) {
    const LockId lock_id = opened_by(kim);
    (void)locks.release(order, lock_id);
    auto late = step(kim);
    const auto saved = late.orders.save("1", {"late", 1}, lock_id);
    ASSERT_FALSE(saved);
    EXPECT_EQ(saved.error().why, web::NotSaved::Why::lost);
    EXPECT_EQ(saved.error().refusal.reason, Gone::released);
    EXPECT_FALSE(late.transaction.has_begun());
    EXPECT_FALSE(late.orders.resume("1", lock_id));
    EXPECT_EQ(late.orders.look("1")->text, "old");
}

TEST_F(LockingRepositoryTest, AnothersLockIdAndAReadersLockAreNotGoodForSaving) {
    const LockId kims = opened_by(kim);
    auto stranger = step(lee);
    EXPECT_FALSE(stranger.orders.save("1", {"stolen", 1}, kims));
    (void)locks.release(order, kims);
    auto reading = step(kim, LockType::read_write);
    const auto opened = reading.orders.open(order, Access::read);
    ASSERT_TRUE(opened);
    EXPECT_EQ(opened->lease->mode, Mode::shared);
    reading.transaction.commit();
    EXPECT_FALSE(reading.orders.save("1", {"read", 1}, opened->lease->lock_id));
    EXPECT_EQ(database.run("select text from orders"), "old");
}

TEST_F(LockingRepositoryTest, AWriterThatIgnoredTheLockIsFound) {
    const LockId lock_id = opened_by(kim);
    database.run("update orders set text = 'sneaked', version = version + 1");
    auto saving = step(kim);
    const auto saved = saving.orders.save("1", {"new", 1}, lock_id);
    ASSERT_FALSE(saved);
    EXPECT_EQ(saved.error().why, web::NotSaved::Why::stale);
    EXPECT_EQ(database.run("select text from orders"), "sneaked");
    EXPECT_FALSE(is_free());
}

TEST_F(LockingRepositoryTest, AFailedRequestGivesBackTheLocksItTook) {
    {
        auto failing = step(kim);
        EXPECT_TRUE(failing.orders.open({"Item", "7"}, Access::write));
        EXPECT_TRUE(failing.orders.is_open(order, Access::write));
        failing.transaction.roll_back();
    }
    EXPECT_TRUE(is_free());
    const LockId lock_id = opened_by(kim);
    {
        auto failing = step(kim);
        EXPECT_EQ(failing.orders.open(order, Access::write)->lease->lock_id, lock_id);
        failing.transaction.roll_back();
    }
    EXPECT_TRUE(locks.check(order, lock_id));
}

TEST_F(LockingRepositoryTest, LockingAfterLoadingIsAMistakeThatShows) {
    auto mistaken = step(kim);
    EXPECT_TRUE(mistaken.orders.look("1"));
    EXPECT_THROW((void)mistaken.orders.open(order, Access::write), std::logic_error);
    EXPECT_FALSE(mistaken.orders.look("2"));
    // Reading needs no lock by this rule.
    EXPECT_FALSE(mistaken.orders.open(order, Access::read)->lease);
    mistaken.transaction.roll_back();
}

TEST_F(LockingRepositoryTest, ATabThatStartsAnewLeavesItsEarlierLocks) {
    const LockId lock_id = opened_by(kim);
    auto next = step(kim);
    next.tab_locks.start_anew();
    EXPECT_TRUE(next.tab_locks.take({"Order", "2"}, Mode::exclusive));
    next.tab_locks.keep();
    EXPECT_FALSE(locks.check(order, lock_id));
    EXPECT_EQ(locks.holders({"Order", "2"}).size(), 1U);

    const auto second = locks.holders({"Order", "2"});
    auto other = step(lee);
    other.tab_locks.release({"Order", "2"}, LockId{});
    EXPECT_TRUE(other.tab_locks.take({"Order", "3"}, Mode::exclusive));
    EXPECT_EQ(locks.holders({"Order", "2"}).size(), 1U);
}

}  // namespace
}  // namespace leasehold::testing
