#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "conformance/conformance.hpp"
#include "conformance/postgres_harness.hpp"

// The cost of a batch must not grow with the number of keys that were ever locked. PostgreSQL
// reports how much it read.
namespace leasehold::conformance {
namespace {

class PostgresReads : public SqlConformanceTest {
protected:
    static constexpr std::size_t batch = 20;

    static std::vector<LockKey> keys(const std::string& type, std::size_t number) {
        std::vector<LockKey> keys;
        for (std::size_t i = 0; i < number; ++i) keys.emplace_back(type, std::to_string(i));
        return keys;
    }

    // Four batches, one for each kind of request: twenty locks from the try to the release.
    static void lives(Store& store, const std::vector<LockKey>& keys) {
        std::vector<Request> tries, checks, renewals, releases;
        for (const LockKey& key : keys) {
            const LockId id = LockId::random();
            tries.emplace_back(TryLock{.key = key, .lock_id = id, .ttl = 1min});
            checks.emplace_back(Check{.key = key, .lock_id = id});
            renewals.emplace_back(Renew{.key = key, .lock_id = id, .ttl = 2min});
            releases.emplace_back(Release{.key = key, .lock_id = id});
        }
        for (const auto& requests : {tries, checks, renewals, releases}) {
            std::vector<Outcome> outcomes(requests.size());
            store.apply(requests, outcomes);
            for (const Outcome& outcome : outcomes) {
                EXPECT_TRUE(std::holds_alternative<Lease>(outcome));
            }
        }
    }

    // The rows read by connections that have ended: only these have reported everything. `open` is
    // the number of Leasehold's other connections.
    static std::int64_t rows_read(std::size_t open) {
        PostgresConnection connection;
        while (connection
                   .run("select from pg_stat_activity where datname = current_database() and "
                        "application_name = 'leasehold'")
                   .size() > open) {
            std::this_thread::yield();
        }
        return std::stoll(
            connection
                .run("select sum(seq_tup_read + idx_tup_fetch)::bigint from pg_stat_user_tables "
                     "where relname in ('locks', 'lock_history', 'lock_shares')")
                .front()
                .front());
    }
};

// A connection keeps the plans that it made when there were few keys.
TEST_P(PostgresReads, DoNotGrowWithTheNumberOfKeys) {
    constexpr int times = 10;
    auto early = harness().open();
    for (int time = 0; time < times; ++time) lives(*early, keys("few", batch));
    {
        const auto store = harness().open();
        for (std::size_t i = 0; i < 5000; i += 500) {
            lives(*store, keys("many-" + std::to_string(i), 500));
        }
    }
    const std::int64_t before = rows_read(1);
    for (int time = 0; time < times; ++time) lives(*early, keys("late", batch));
    early.reset();
    constexpr std::int64_t requests = std::int64_t{2 * times} * 4 * batch;
    EXPECT_LE(rows_read(0) - before, 4 * requests);
}

LEASEHOLD_ON(only_postgres(), PostgresReads);

}  // namespace
}  // namespace leasehold::conformance
