#include <functional>
#include <string>
#include <vector>

#include "conformance/conformance.hpp"

// A request reads few rows, however many leases there are: every statement finds its rows by an
// index, even before the database has noticed how its tables have grown.
namespace leasehold::conformance {
namespace {

constexpr int owners = 64;
constexpr int leases_of_an_owner = 128;
constexpr int times = 8;
constexpr std::int64_t most_rows_for_a_request = 500;

std::string owner_of(int number) {
    return "owner-" + std::to_string(number);
}

class StatementPlans : public SqlConformanceTest {
protected:
    // Half of the leases are held. The other keys are free, with an ended lease.
    void SetUp() override {
        const auto filling = manager();
        for (int owner = 0; owner < owners; ++owner) {
            std::vector<LockKey> keys;
            for (int i = 0; i < leases_of_an_owner; ++i) {
                keys.emplace_back(owner % 2 == 0 ? "Order" : "Invoice",
                                  std::to_string(owner) + "-" + std::to_string(i));
            }
            const auto taken =
                must(filling->try_lock_all(keys, {.owner = owner_of(owner), .ttl = 1h}));
            if (owner == 0) some_lock_ids_ = taken;
            if (owner >= owners / 2) (void)must(filling->release_all(owner_of(owner)));
        }
    }

    // Runs the request several times on a handle of its own.
    void expect_few_rows(const std::string& what,
                         const std::function<void(LockManager&, int)>& request) {
        const auto asked_for_nothing = [&] {
            const std::int64_t before = harness().rows_read();
            (void)manager()->check(LockId::random());
            return harness().rows_read() - before;
        };
        const std::int64_t beside = asked_for_nothing();
        const std::int64_t before = harness().rows_read();
        {
            const auto locks = manager();
            for (int i = 0; i < times; ++i) request(*locks, i);
        }
        const std::int64_t rows = harness().rows_read() - before - beside;
        RecordProperty(what, std::to_string(rows / times));
        EXPECT_LE(rows / times, most_rows_for_a_request) << what;
    }

    void expect_few_rows_for_every_request(const std::string& round) {
        const auto key = [&](int i) { return LockKey{"New", round + std::to_string(i)}; };
        expect_few_rows(round + "cycle", [&](LockManager& locks, int i) {
            const Lease lease = must(locks.try_lock(key(i), {.owner = "alice"}));
            EXPECT_TRUE(granted(locks.renew(key(i), lease.lock_id, 1min)));
            EXPECT_TRUE(granted(locks.check(lease.lock_id)));
            EXPECT_TRUE(granted(locks.release(lease.lock_id)));
        });
        expect_few_rows(round + "refusal", [&](LockManager& locks, int i) {
            EXPECT_FALSE(locks.try_lock({"Order", "0-" + std::to_string(i)}, {.owner = "bob"}));
        });
        expect_few_rows(round + "shares", [&](LockManager& locks, int i) {
            const Lease lease =
                must(locks.try_lock(key(i), {.owner = "alice", .mode = Mode::shared}));
            EXPECT_TRUE(granted(locks.release(lease.lock_id)));
        });
        expect_few_rows(round + "many keys at once", [&](LockManager& locks, int i) {
            std::vector<LockKey> keys;
            for (int k = 0; k < 32; ++k) {
                keys.emplace_back("Many", round + std::to_string(32 * i + k));
            }
            const std::string owner = round + std::to_string(i);
            (void)must(locks.try_lock_all(keys, {.owner = owner}));
            EXPECT_EQ(must(locks.release_all(owner)).size(), 32U);
        });
        expect_few_rows(round + "pasts", [&](LockManager& locks, int i) {
            EXPECT_EQ(locks.history({.limit = 10}).size(), 10U);
            const std::string id = std::to_string(owners - 2) + "-" + std::to_string(i);
            EXPECT_EQ(locks.history({.key = LockKey{"Order", id}, .limit = 10}).size(), 1U);
            EXPECT_EQ(locks.history({.key = LockKey{"Nobody", id}, .limit = 10}).size(), 0U);
        });
        expect_few_rows(round + "guard", [&](LockManager& locks, int i) {
            const auto transaction = harness().begin();
            const Lease& lease = some_lock_ids_.at(static_cast<std::size_t>(i));
            EXPECT_TRUE(granted(transaction->guard(lease.key, lease.lock_id)));
            transaction->commit();
            EXPECT_TRUE(granted(locks.check(lease.key, lease.lock_id)));
        });
    }

private:
    std::vector<Lease> some_lock_ids_;
};

TEST_P(StatementPlans, NoRequestAboutAKeyReadsMuchOfALargeTable) {
    expect_few_rows_for_every_request("unknown size ");
    harness().analyze();
    expect_few_rows_for_every_request("known size ");
}

const std::vector<UnderTest<SqlHarness>> servers_with_plans{{"postgres", make_postgres_harness},
                                                            {"mysql", make_mysql_harness},
                                                            {"mariadb", make_mariadb_harness}};
LEASEHOLD_ON(servers_with_plans, StatementPlans);

class ListPlans : public StatementPlans {};

TEST_P(ListPlans, APageReadsLittleOfALargeTable) {
    expect_few_rows("lists", [&](LockManager& locks, int i) {
        EXPECT_EQ(locks.list({.limit = 10}).size(), 10U);
        EXPECT_EQ(locks.list({.owner = owner_of(i), .limit = 10}).size(), 10U);
        EXPECT_EQ(locks.list({.owner = "nobody", .limit = 10}).size(), 0U);
        EXPECT_EQ(locks.list({.type = "Order", .limit = 10}).size(), 10U);
        EXPECT_EQ(locks.holders({"Order", "0-1"}).size(), 1U);
    });
}

LEASEHOLD_ON(mysql_and_mariadb(), ListPlans);

}  // namespace
}  // namespace leasehold::conformance
