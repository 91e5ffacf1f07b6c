#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include <leasehold/leasehold.hpp>

#include "conformance/harness.hpp"
#include "core/grant.hpp"

// What the suites share: a fixture with an empty store, and functions for what they expect.
namespace leasehold::conformance {

using namespace std::chrono_literals;

template <class Harness>
struct UnderTest {
    std::string name;
    std::function<std::unique_ptr<Harness>()> make;

    friend void PrintTo(const UnderTest& store, std::ostream* out) { *out << store.name; }
};

[[nodiscard]] std::vector<UnderTest<StoreHarness>> every_store();
[[nodiscard]] std::vector<UnderTest<SqlHarness>> every_sql_store();
[[nodiscard]] std::vector<UnderTest<SqlHarness>> only_sqlite();
[[nodiscard]] std::vector<UnderTest<SqlHarness>> only_postgres();
[[nodiscard]] std::vector<UnderTest<SqlHarness>> only_mysql();
[[nodiscard]] std::vector<UnderTest<SqlHarness>> mysql_and_mariadb();
// The stores that have a watch.
[[nodiscard]] std::vector<UnderTest<StoreHarness>> every_watched_store();
// The stores that have a schema.
[[nodiscard]] std::vector<UnderTest<StoreHarness>> every_database();

// A suite's tests are named "Suite.TestName/store".
#define LEASEHOLD_ON(stores, Suite)                                \
    INSTANTIATE_TEST_SUITE_P(, Suite, ::testing::ValuesIn(stores), \
                             [](const auto& store) { return store.param.name; })
#define LEASEHOLD_ON_EVERY_STORE(Suite) LEASEHOLD_ON(::leasehold::conformance::every_store(), Suite)
#define LEASEHOLD_ON_EVERY_SQL_STORE(Suite) \
    LEASEHOLD_ON(::leasehold::conformance::every_sql_store(), Suite)

template <class Harness>
class OnStore : public ::testing::TestWithParam<UnderTest<Harness>> {
protected:
    [[nodiscard]] Harness& harness() { return *harness_; }

    // A manager with its own handle, as another process would have.
    [[nodiscard]] std::unique_ptr<LockManager> manager(Limits limits = {},
                                                       StoreOptions options = {}) {
        return std::make_unique<LockManager>(harness_->open(options), limits);
    }

    // Opened at the first call.
    [[nodiscard]] LockManager& locks() {
        if (!locks_) locks_ = manager();
        return *locks_;
    }

    void let_pass(Duration duration) { harness_->let_pass(duration); }

private:
    std::unique_ptr<Harness> harness_ = this->GetParam().make();
    std::unique_ptr<LockManager> locks_;
};

class ConformanceTest : public OnStore<StoreHarness> {};
class SqlConformanceTest : public OnStore<SqlHarness> {};

// The value of the result. Fails the test if it is a refusal.
template <class T>
[[nodiscard]] T must(Result<T> result) {
    if (!result) throw std::runtime_error{"unexpected refusal: " + result.error().message()};
    return *std::move(result);
}

template <class T>
[[nodiscard]] ::testing::AssertionResult granted(const Result<T>& result) {
    if (result) return ::testing::AssertionSuccess() << "it was granted";
    return ::testing::AssertionFailure() << "refused: " << result.error().message();
}

[[nodiscard]] ::testing::AssertionResult refusal_is_gone(const Refusal& refusal, Gone reason,
                                                         const std::string& by,
                                                         const std::string& why);
[[nodiscard]] ::testing::AssertionResult refusal_is_held(const Refusal& refusal,
                                                         std::vector<std::string> owners);

// Refused because the lease ended in this way.
template <class T>
[[nodiscard]] ::testing::AssertionResult gone(const Result<T>& result, Gone reason,
                                              const std::string& by = {},
                                              const std::string& why = {}) {
    if (result) return ::testing::AssertionFailure() << "it was granted";
    return refusal_is_gone(result.error(), reason, by, why);
}

// Refused because exactly these owners hold the key.
template <class T>
[[nodiscard]] ::testing::AssertionResult held(const Result<T>& result,
                                              std::vector<std::string> owners) {
    if (result) return ::testing::AssertionFailure() << "it was granted";
    return refusal_is_held(result.error(), std::move(owners));
}

// A lease of alice's, and the open transaction that guards it. Tries again if the lease expired
// before it could be guarded.
struct Guarded {
    Lease lease;
    std::unique_ptr<CallerTransaction> transaction;
};
[[nodiscard]] Guarded guard_briefly(SqlHarness& harness, LockManager& locks, const LockKey& key,
                                    Duration ttl);

// Equal, except for the short time that a test takes.
[[nodiscard]] ::testing::AssertionResult about(std::optional<Duration> actual, Duration expected);

// Checks the condition again and again, with growing pauses. Returns false after a generous
// deadline.
[[nodiscard]] bool eventually(const std::function<bool()>& condition);

[[nodiscard]] std::vector<std::string> owners_of(std::span<const Holder> holders);
[[nodiscard]] std::vector<std::string> owners_of(const std::vector<Lease>& leases);
[[nodiscard]] std::vector<std::string> ids_of(std::span<const Holder> holders);

}  // namespace leasehold::conformance
