#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <leasehold/hold.hpp>
#include <leasehold/stores/memory.hpp>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "unit/faulty_store.hpp"
#include "unit/gated_store.hpp"
#include "unit/manual_clock.hpp"
#include "unit/waiting.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

const LockKey job{"Job", "nightly"};
const LockKey other_job{"Job", "weekly"};

static_assert(!std::is_copy_constructible_v<Held>);
static_assert(std::is_nothrow_move_constructible_v<Held>);
static_assert(std::is_nothrow_move_assignable_v<Held>);

class HoldTest : public ::testing::Test {
protected:
    [[nodiscard]] bool is_held(const LockKey& key) { return !locks.holders(key).empty(); }

    // Renewed soon, and outlives any stall of the machine.
    [[nodiscard]] static HoldOptions renewed_often() {
        return {.owner = "host-1", .ttl = 1h, .every = 10ms};
    }

    ManualClock clock;
    FaultyStore* faults = new FaultyStore{memory_store_on(clock)};
    GatedStore* gate = new GatedStore{std::unique_ptr<Store>{faults}};
    LockManager locks{std::unique_ptr<Store>{gate}};
};

TEST_F(HoldTest, HoldsTheLockUntilTheEndOfTheScope) {
    {
        const auto held = hold(locks, job, {.owner = "host-1", .note = "report"});
        ASSERT_TRUE(held);
        EXPECT_TRUE(held->lease().owner.starts_with("host-1/hold-"));
        EXPECT_EQ(held->fence(), held->lease().fence);
        EXPECT_FALSE(held->lost());
        EXPECT_FALSE(held->loss());
        EXPECT_GT(held->valid_until(), SteadyClock::now());
        EXPECT_LT(held->valid_until(), held->lease().valid_until);
        EXPECT_EQ(locks.holders(job)[0].note, "report");
    }
    EXPECT_FALSE(is_held(job));
}

TEST_F(HoldTest, ReleasesWhenAnExceptionLeavesTheScope) {
    try {
        const auto held = hold(locks, job);
        throw std::runtime_error{"the work failed"};
    } catch (const std::runtime_error&) {
        EXPECT_FALSE(is_held(job));
    }
}

TEST_F(HoldTest, IsRefusedWithTheHolders) {
    const auto first = hold(locks, job, {.owner = "host-1"});
    ASSERT_TRUE(first);
    const auto second = hold(locks, job, {.owner = "host-2"});
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().holders.at(0).owner, first->lease().owner);
}

// As a job that is started again on the same host before it has ended.
TEST_F(HoldTest, TwoOfOneOwnerExcludeEachOther) {
    const auto first = hold(locks, job, {.owner = "host-1"});
    ASSERT_TRUE(first);
    EXPECT_FALSE(hold(locks, job, {.owner = "host-1"}));
    EXPECT_TRUE(is_held(job));
}

TEST_F(HoldTest, WaitsIfAskedTo) {
    std::optional<Held> first = hold(locks, job, {.owner = "host-1"}).value();
    auto second = std::async(std::launch::async, [&] {
        return hold(locks, job, {.owner = "host-2", .wait = 1h}).value().fence();
    });
    const Fence before = first->fence();
    first.reset();
    EXPECT_GT(second.get(), before);
}

TEST_F(HoldTest, AStopEndsTheWait) {
    const auto first = hold(locks, job, {.owner = "host-1"});
    std::stop_source stop;
    auto second = std::async(std::launch::async, [&] {
        return hold(locks, job, {.owner = "host-2", .wait = 1h, .stop_waiting = stop.get_token()})
            .has_value();
    });
    ASSERT_TRUE(eventually([&] { return gate->batch_sizes().size() >= 3; }));
    stop.request_stop();
    EXPECT_FALSE(second.get());
}

TEST_F(HoldTest, IsRenewed) {
    const auto held = hold(locks, job, renewed_often());
    const auto before = held->valid_until();
    EXPECT_TRUE(eventually([&] { return held->valid_until() > before; }));
    EXPECT_FALSE(held->lost());
    EXPECT_FALSE(held->stop_token().stop_requested());
}

TEST_F(HoldTest, EndsWhenTheLongestTimeIsOver) {
    LockManager locks_with_real_time{memory::open()};
    const auto held = hold(locks_with_real_time, job, {.ttl = 1min, .max_hold = 200ms});
    EXPECT_EQ(held->lease().expires_at, held->lease().granted_at + 200ms);
    ASSERT_TRUE(eventually([&] { return held->stop_token().stop_requested(); }));
    EXPECT_EQ(std::get<Refusal>(held->loss().value()).reason, Gone::expired);
}

TEST_F(HoldTest, EndsAsExpiredThoughNoRenewalIsAnswered) {
    const auto held = hold(locks, job, {.owner = "host-1", .ttl = 1h, .max_hold = 200ms});
    faults->fail(0, Fails::before_effect, 1'000'000);
    ASSERT_TRUE(eventually([&] { return held->stop_token().stop_requested(); }));
    EXPECT_TRUE(std::holds_alternative<Refusal>(held->loss().value()));
    faults->heal();
}

TEST_F(HoldTest, AShortLongestTimeLeavesTimeToWork) {
    const auto held = hold(locks, job, {.owner = "host-1", .ttl = 1h, .max_hold = 5min});
    EXPECT_FALSE(held->lost());
    EXPECT_EQ(held->lease().valid_until - held->valid_until(), 30s);
}

TEST_F(HoldTest, StopsTheWorkWhenTheLeaseIsLost) {
    const auto held = hold(locks, job, renewed_often());
    std::atomic<bool> stopped = false;
    const std::stop_callback work{held->stop_token(), [&] { stopped = true; }};
    ASSERT_TRUE(locks.break_lock(job, held->fence(), "root", "on holiday"));
    ASSERT_TRUE(eventually([&] { return stopped.load(); }));
    EXPECT_TRUE(held->lost());
    const auto loss = held->loss();
    ASSERT_TRUE(loss);
    ASSERT_TRUE(std::holds_alternative<Refusal>(*loss));
    EXPECT_EQ(std::get<Refusal>(*loss).by, "root");
}

TEST_F(HoldTest, StopsTheWorkInTimeThoughTheStoreDoesNotAnswer) {
    const auto held = hold(locks, job, {.owner = "host-1", .ttl = 1s, .margin = 500ms});
    gate->close();
    ASSERT_TRUE(eventually([&] { return held->stop_token().stop_requested(); }));
    EXPECT_TRUE(std::holds_alternative<StoreFault>(held->loss().value()));
    gate->open();
}

TEST_F(HoldTest, ASlowHolderOfOneLostLeaseDoesNotDelayTheRenewalOfAnother) {
    const auto lost = hold(locks, job, renewed_often());
    const auto kept = hold(locks, other_job, renewed_often());
    std::promise<void> done;
    std::atomic<bool> told = false;
    const std::stop_callback slow{lost->stop_token(), [&] {
                                      told = true;
                                      done.get_future().wait();
                                  }};
    ASSERT_TRUE(locks.break_lock(job, lost->fence(), "root", "test"));
    ASSERT_TRUE(eventually([&] { return told.load(); }));
    const auto before = kept->valid_until();
    EXPECT_TRUE(eventually([&] { return kept->valid_until() > before; }));
    EXPECT_FALSE(kept->lost());
    done.set_value();
}

TEST_F(HoldTest, MayBeEndedByTheWorkThatLearnsOfTheLoss) {
    std::optional<Held> held = hold(locks, job, renewed_often()).value();
    std::atomic<bool> ended = false;
    std::optional<std::stop_callback<std::function<void()>>> work;
    work.emplace(held->stop_token(), [&] {
        held.reset();
        ended = true;
    });
    ASSERT_TRUE(locks.break_lock(job, held->fence(), "root", "test"));
    EXPECT_TRUE(eventually([&] { return ended.load(); }));
}

TEST_F(HoldTest, AMovedOneReleasesOnce) {
    std::optional<Held> outer;
    {
        auto inner = hold(locks, job, {.owner = "host-1"});
        outer.emplace(*std::move(inner));
    }
    EXPECT_TRUE(is_held(job));
    EXPECT_FALSE(outer->lost());
    outer.reset();
    EXPECT_FALSE(is_held(job));
    EXPECT_EQ(locks.history().size(), 1U);
}

TEST_F(HoldTest, AssigningReleasesTheOneBefore) {
    Held held = hold(locks, job, {.owner = "host-1"}).value();
    held = hold(locks, other_job, {.owner = "host-1"}).value();
    EXPECT_FALSE(is_held(job));
    EXPECT_TRUE(is_held(other_job));
}

TEST_F(HoldTest, AKeptLeaseOutlivesTheScope) {
    Lease lease{.key = job};
    {
        Held held = hold(locks, job, {.owner = "host-1"}).value();
        lease = std::move(held).keep().front();
    }
    EXPECT_TRUE(locks.check(job, lease.lock_id));
}

TEST_F(HoldTest, AFaultOnTheWayOutLeavesTheLeaseToItsExpiry) {
    {
        // Not renewed within the test.
        const auto held = hold(locks, job, {.owner = "host-1", .ttl = 24h});
        faults->fail(0, Fails::before_effect);
    }
    EXPECT_TRUE(is_held(job));
    clock.advance(25h);
    EXPECT_FALSE(is_held(job));
}

TEST_F(HoldTest, SeveralKeysAreHeldTogether) {
    {
        const auto held = hold_all(locks, {job, other_job}, {.owner = "host-1"});
        ASSERT_TRUE(held);
        EXPECT_EQ(held->leases().size(), 2U);
        EXPECT_TRUE(is_held(job));
        EXPECT_TRUE(is_held(other_job));
    }
    EXPECT_FALSE(is_held(job));
    EXPECT_FALSE(is_held(other_job));
}

TEST_F(HoldTest, IfOneOfSeveralIsLostAllAre) {
    const auto held = hold_all(locks, {job, other_job}, renewed_often());
    ASSERT_TRUE(locks.break_lock(other_job, held->leases().back().fence, "root", "test"));
    ASSERT_TRUE(eventually([&] { return held->stop_token().stop_requested(); }));
    EXPECT_TRUE(held->lost());
}

TEST_F(HoldTest, AThousandLeasesAreRenewedAndReleasedInAFewBatches) {
    Limits limits;
    limits.keys_at_once = 1000;
    limits.batch_requests = 1000;
    GatedStore* const own_gate = new GatedStore{memory_store_on(clock)};
    LockManager many{std::unique_ptr<Store>{own_gate}, limits};
    std::vector<LockKey> keys;
    for (int i = 0; i < 1000; ++i) keys.emplace_back("Item", std::to_string(i));
    {
        // In ten calls, at different times.
        std::vector<Held> held;
        for (auto at = keys.begin(); at != keys.end(); at += 100) {
            held.push_back(
                hold_all(many, {at, at + 100}, {.owner = "host-1", .ttl = 1h, .every = 200ms})
                    .value());
        }
        own_gate->close();
        // The first renewal goes alone, the others gather behind it.
        ASSERT_TRUE(own_gate->wait_until_held());
        const std::size_t before = own_gate->batch_sizes().size();
        ASSERT_TRUE(eventually([&] {
            own_gate->let_pass();
            std::size_t renewed = 0;
            for (const auto& batch : own_gate->batches()) {
                for (const Request& request : batch) {
                    if (std::holds_alternative<Renew>(request)) ++renewed;
                }
            }
            return renewed >= 1000;
        }));
        EXPECT_LE(own_gate->batch_sizes().size(), before + 100);
        own_gate->open();
    }
    EXPECT_TRUE(many.list().empty());
}

TEST_F(HoldTest, RefusesOptionsThatCannotWork) {
    EXPECT_THROW((void)hold(locks, job, {.ttl = 0s}), BadRequest);
    EXPECT_THROW((void)hold(locks, job, {.ttl = until_released}), BadRequest);
    EXPECT_THROW((void)hold(locks, job, {.ttl = 1s, .margin = 700ms}), BadRequest);
    EXPECT_THROW((void)hold(locks, job, {.ttl = 1s, .every = 0s}), BadRequest);
    EXPECT_THROW((void)hold(locks, job, {.ttl = 1s, .every = 1s}), BadRequest);
    EXPECT_THROW((void)hold(locks, job, {.ttl = 1s, .margin = -1s}), BadRequest);
    EXPECT_THROW((void)hold_all(locks, {}), BadRequest);
    EXPECT_TRUE(gate->batch_sizes().empty());
}

}  // namespace
}  // namespace leasehold::testing
