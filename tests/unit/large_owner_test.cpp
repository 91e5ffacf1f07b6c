// An owner with more rows than one transaction looks through.
#include <gtest/gtest.h>

#include <leasehold/limits.hpp>
#include <leasehold/lock_manager.hpp>
#include <leasehold/stores/sqlite.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "core/fresh_lock_id.hpp"
#include "support/process.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

class LargeOwner : public ::testing::Test {
protected:
    std::vector<Outcome> apply(const std::vector<Request>& requests) {
        std::vector<Outcome> outcomes(requests.size());
        store_->apply(requests, outcomes);
        return outcomes;
    }
    static TryLock try_of(const std::string& id, const std::string& owner) {
        return {
            .key = LockKey{"Order", id}, .lock_id = FreshLockId::draw(), .owner = owner, .ttl = 1h};
    }
    // Takes and releases one key more than a transaction looks through.
    void leave_many_ended_leases(const std::string& owner) {
        std::vector<Request> requests;
        for (std::size_t i = 0; i <= Limits::rows_looked_through; ++i) {
            const TryLock taken = try_of("ended-" + std::to_string(i), owner);
            requests.emplace_back(taken);
            requests.emplace_back(Release{.key = taken.key, .lock_id = taken.lock_id});
        }
        (void)apply(requests);
    }

    const TemporaryFolder folder_;
    // Every reading of the clock is later than the one before.
    Time now_{std::chrono::seconds{1'800'000'000}};
    std::unique_ptr<Store> store_ =
        sqlite::open(folder_.path() / "locks.db", {}, [this] { return now_ += 1ms; });
};

TEST_F(LargeOwner, DoesNotSplitTheTransactionOfOthers) {
    leave_many_ended_leases("large");
    std::vector<Request> requests{ReleaseAll{.owner = "large"}};
    for (int i = 0; i < 20; ++i) requests.emplace_back(try_of(std::to_string(i), "other"));
    requests.emplace_back(ReleaseAll{.owner = "large"});
    const std::vector<Outcome> outcomes = apply(requests);
    for (const std::size_t i : {std::size_t{0}, outcomes.size() - 1}) {
        const auto* fault = std::get_if<StoreFault>(&outcomes[i]);
        ASSERT_NE(fault, nullptr);
        EXPECT_EQ(fault->cause(), StoreFault::Cause::too_large);
        EXPECT_EQ(fault->effect(), StoreFault::Effect::none);
    }
    // A transaction reads the clock once.
    const Time granted_at = std::get<Lease>(outcomes[1]).granted_at;
    for (std::size_t i = 1; i + 1 < outcomes.size(); ++i) {
        EXPECT_EQ(std::get<Lease>(outcomes[i]).granted_at, granted_at) << i;
    }
}

TEST_F(LargeOwner, EndsItsLiveLeasesThroughTheLockManager) {
    leave_many_ended_leases("large");
    (void)apply({try_of("1", "large"), try_of("2", "large"), try_of("3", "other")});
    LockManager locks{std::move(store_)};
    EXPECT_EQ(locks.release_all("large")->size(), 2U);
    EXPECT_EQ(locks.list().size(), 1U);
}

}  // namespace
}  // namespace leasehold::testing
