#include "conformance/conformance.hpp"

#include <algorithm>
#include <stdexcept>
#include <thread>

namespace leasehold::conformance {

std::vector<UnderTest<StoreHarness>> every_store() {
    return {{"memory", make_memory_harness},     {"sqlite", make_sqlite_harness},
            {"postgres", make_postgres_harness}, {"mysql", make_mysql_harness},
            {"mariadb", make_mariadb_harness},   {"etcd", make_etcd_harness},
            {"http", make_http_harness},         {"distant", make_distant_harness}};
}

std::vector<UnderTest<SqlHarness>> every_sql_store() {
    return {{"sqlite", make_sqlite_harness},
            {"postgres", make_postgres_harness},
            {"mysql", make_mysql_harness},
            {"mariadb", make_mariadb_harness},
            {"distant", make_distant_harness}};
}

std::vector<UnderTest<SqlHarness>> only_postgres() {
    return {{"postgres", make_postgres_harness}};
}

std::vector<UnderTest<SqlHarness>> only_sqlite() {
    return {{"sqlite", make_sqlite_harness}};
}

std::vector<UnderTest<SqlHarness>> only_mysql() {
    return {{"mysql", make_mysql_harness}};
}

std::vector<UnderTest<SqlHarness>> mysql_and_mariadb() {
    return {{"mysql", make_mysql_harness}, {"mariadb", make_mariadb_harness}};
}

std::vector<UnderTest<StoreHarness>> every_database() {
    return {{"sqlite", make_sqlite_harness}, {"postgres", make_postgres_harness},
            {"mysql", make_mysql_harness},   {"mariadb", make_mariadb_harness},
            {"etcd", make_etcd_harness},     {"distant", make_distant_harness}};
}

std::vector<UnderTest<StoreHarness>> every_watched_store() {
    return {{"sqlite", make_sqlite_harness},
            {"postgres", make_postgres_harness},
            {"etcd", make_etcd_harness}};
}

void wait_out(Duration duration) {
    const auto end = SteadyClock::now() + duration;
    while (SteadyClock::now() <= end) std::this_thread::sleep_until(end);
}

::testing::AssertionResult refusal_is_gone(const Refusal& refusal, Gone reason,
                                           const std::string& by, const std::string& why) {
    if (refusal.kind == Refusal::Kind::gone && refusal.reason == reason && refusal.by == by &&
        refusal.why == why) {
        return ::testing::AssertionSuccess();
    }
    return ::testing::AssertionFailure()
           << "refused as " << to_string(refusal.kind) << " (" << to_string(refusal.reason)
           << "), by '" << refusal.by << "', why '" << refusal.why << "': " << refusal.message()
           << "; expected " << to_string(reason) << ", by '" << by << "', why '" << why << "'";
}

::testing::AssertionResult refusal_is_held(const Refusal& refusal,
                                           std::vector<std::string> owners) {
    std::vector<std::string> actual = owners_of(refusal.holders);
    std::ranges::sort(actual);
    std::ranges::sort(owners);
    if (refusal.kind == Refusal::Kind::held && actual == owners) {
        return ::testing::AssertionSuccess();
    }
    return ::testing::AssertionFailure()
           << "refused as " << to_string(refusal.kind) << " with " << actual.size()
           << " holders: " << refusal.message() << "; expected " << ::testing::PrintToString(owners)
           << " to hold it";
}

Guarded guard_briefly(SqlHarness& harness, LockManager& locks, const LockKey& key, Duration ttl) {
    auto transaction = harness.connect();
    for (int attempts = 0; attempts < 200; ++attempts) {
        const LockId id = must(locks.try_lock(key, {.owner = "alice", .ttl = ttl})).lock_id;
        transaction->begin();
        if (auto guarded = transaction->guard(key, id)) {
            return {*std::move(guarded), std::move(transaction)};
        }
        transaction->rollback();
    }
    throw std::runtime_error{"no lease could be guarded before it ran out"};
}

::testing::AssertionResult about(std::optional<Duration> actual, Duration expected) {
    constexpr Duration a_test_takes = 20s;
    if (!actual) return ::testing::AssertionFailure() << "it never ends";
    if (std::chrono::abs(*actual - expected) <= a_test_takes) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure()
           << actual->count() << " us is not about " << expected.count() << " us";
}

bool eventually(const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + 60s;
    for (auto pause = 1ms; !condition(); pause = std::min(2 * pause, 50ms)) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        std::this_thread::sleep_for(pause);
    }
    return true;
}

std::vector<std::string> owners_of(std::span<const Holder> holders) {
    std::vector<std::string> owners;
    for (const Holder& holder : holders) owners.push_back(holder.owner);
    return owners;
}

std::vector<std::string> owners_of(const std::vector<Lease>& leases) {
    std::vector<std::string> owners;
    for (const Lease& lease : leases) owners.push_back(lease.owner);
    return owners;
}

std::vector<std::string> ids_of(std::span<const Holder> holders) {
    std::vector<std::string> ids;
    for (const Holder& holder : holders) ids.emplace_back(holder.key.id());
    return ids;
}

}  // namespace leasehold::conformance
