#include <sqlite3.h>

#include <future>
#include <memory>
#include <string>

#include <leasehold/stores/postgres.hpp>
#include <leasehold/stores/sqlite.hpp>

#include "conformance/conformance.hpp"
#include "conformance/mariadb_harness.hpp"
#include "conformance/postgres_harness.hpp"
#include "support/process.hpp"

// How long a guard tries again while another transaction has locked the lease.
namespace leasehold::conformance {
namespace {

struct PostgresGuard {
    PostgresGuard() { connection.run("begin"); }
    auto operator()(const Lease& lease, Duration patience) {
        return postgres::guard(connection.get(), lease.key, lease.lock_id, patience);
    }
    void commit() { connection.run("commit"); }
    PostgresConnection connection;
};

struct MariadbGuard {
    explicit MariadbGuard(MariadbOr product) : connection{product} {
        connection.run("start transaction");
    }
    auto operator()(const Lease& lease, Duration patience) {
        return connection.guard(lease.key, lease.lock_id, patience);
    }
    void commit() { connection.run("commit"); }
    MariadbConnection connection;
};

// A transaction that did not begin as a writer, on a connection that does not wait for locks.
struct SqliteGuard {
    explicit SqliteGuard(const std::string& path) {
        EXPECT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
        EXPECT_EQ(sqlite3_exec(db, "begin", nullptr, nullptr, nullptr), SQLITE_OK);
    }
    SqliteGuard(const SqliteGuard&) = delete;
    SqliteGuard& operator=(const SqliteGuard&) = delete;
    ~SqliteGuard() { sqlite3_close(db); }
    auto operator()(const Lease& lease, Duration patience) {
        return sqlite::guard(db, lease.key, lease.lock_id, patience);
    }
    void commit() { EXPECT_EQ(sqlite3_exec(db, "commit", nullptr, nullptr, nullptr), SQLITE_OK); }
    sqlite3* db = nullptr;
};

void is_busy_at_once_without_patience(const Lease& lease, auto& first, auto& second) {
    ASSERT_TRUE(granted(first(lease, 0s)));
    const auto refused = second(lease, 0s);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().kind, Refusal::Kind::busy);
    // After the refusal the transaction is still usable.
    first.commit();
    EXPECT_TRUE(granted(second(lease, 0s)));
}

void waits_as_long_as_its_patience(const Lease& lease, auto& first, auto& second) {
    ASSERT_TRUE(granted(first(lease, 0s)));
    auto waiting = std::async(std::launch::async, [&] { return second(lease, 1h); });
    // It waits longer than the default patience and has not given up.
    EXPECT_EQ(waiting.wait_for(2 * Limits{}.busy_patience), std::future_status::timeout);
    first.commit();
    EXPECT_TRUE(granted(waiting.get()));
}

class GuardPatience : public SqlConformanceTest {
protected:
    // Calls `check` with a lease and two guards of it in transactions of their own.
    template <class Check>
    void with_two_guards(Check check) {
        const LockKey key{"Order", "1"};
        if (GetParam().name == "sqlite") {
            const leasehold::testing::TemporaryFolder folder;
            const std::string path = (folder.path() / "locks.db").string();
            LockManager own{sqlite::open(path)};
            const Lease lease = must(own.try_lock(key, {.owner = "alice"}));
            SqliteGuard first{path}, second{path};
            check(lease, first, second);
            return;
        }
        const Lease lease = must(locks().try_lock(key, {.owner = "alice"}));
        if (GetParam().name == "postgres" || GetParam().name == "distant") {
            PostgresGuard first, second;
            check(lease, first, second);
        } else {
            const auto product = GetParam().name == "mysql" ? MariadbOr::mysql : MariadbOr::mariadb;
            MariadbGuard first{product}, second{product};
            check(lease, first, second);
        }
    }
};

TEST_P(GuardPatience, OfNothingIsABusyRefusalAtOnce) {
    with_two_guards([](const Lease& lease, auto& first, auto& second) {
        is_busy_at_once_without_patience(lease, first, second);
    });
}

TEST_P(GuardPatience, LetsAGuardWaitForTheOtherTransaction) {
    with_two_guards([](const Lease& lease, auto& first, auto& second) {
        waits_as_long_as_its_patience(lease, first, second);
    });
}

LEASEHOLD_ON_EVERY_SQL_STORE(GuardPatience);

}  // namespace
}  // namespace leasehold::conformance
