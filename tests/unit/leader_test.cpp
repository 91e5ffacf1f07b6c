#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <leasehold/leader.hpp>
#include <leasehold/stores/memory.hpp>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "unit/waiting.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

const LockKey billing{"Leader", "billing"};

// What the candidates of a test have done.
struct Record {
    std::atomic<int> at_work{0};
    std::atomic<int> most_at_work{0};
    std::atomic<int> terms{0};
    std::atomic<Fence> latest{0};
    std::atomic<bool> fences_grow{true};

    // Works until it is stopped.
    void work(const std::stop_token& stop, Fence fence) {
        const int now = ++at_work;
        if (now > most_at_work) most_at_work = now;
        if (fence <= latest.exchange(fence)) fences_grow = false;
        ++terms;
        (void)eventually([&] { return stop.stop_requested(); });
        --at_work;
    }
};

class LeaderTest : public ::testing::Test {
protected:
    std::unique_ptr<Leader> candidate(const std::string& name) {
        return std::make_unique<Leader>(
            locks, billing, LeaderOptions{.name = name},
            [this](const std::stop_token& stop, Fence fence) { record.work(stop, fence); });
    }
    std::string leading() {
        const auto page = locks.holders(billing);
        return page.empty() ? "" : page[0].owner;
    }

    LockManager locks{memory::open()};
    Record record;
};

TEST_F(LeaderTest, RunsTheWorkWithTheFenceOfItsLease) {
    const auto leader = candidate("host-1");
    ASSERT_TRUE(eventually([&] { return record.terms == 1; }));
    EXPECT_TRUE(leader->leads());
    EXPECT_EQ(record.latest, locks.holders(billing)[0].fence);
}

TEST_F(LeaderTest, OneOfSeveralWorksAndAllKnowWho) {
    const auto first = candidate("host-1");
    ASSERT_TRUE(eventually([&] { return first->leads(); }));
    const auto second = candidate("host-2");
    const auto third = candidate("host-3");
    for (const auto* one : {&first, &second, &third}) {
        EXPECT_TRUE((*one)->current().value().owner.starts_with("host-1/"));
    }
    EXPECT_FALSE(second->leads());
    EXPECT_FALSE(third->leads());
    EXPECT_EQ(record.most_at_work, 1);
}

TEST_F(LeaderTest, TwoOfOneNameDoNotLeadTogether) {
    const auto first = candidate("host-1");
    ASSERT_TRUE(eventually([&] { return first->leads(); }));
    auto second = candidate("host-1");
    second.reset();
    EXPECT_TRUE(first->leads());
    EXPECT_EQ(record.terms, 1);
}

TEST_F(LeaderTest, HandsOverWhenItIsDestroyed) {
    auto first = candidate("host-1");
    ASSERT_TRUE(eventually([&] { return first->leads(); }));
    const auto second = candidate("host-2");
    first.reset();
    ASSERT_TRUE(eventually([&] { return second->leads(); }));
    EXPECT_EQ(record.terms, 2);
    EXPECT_EQ(record.most_at_work, 1);
    EXPECT_TRUE(record.fences_grow);
}

TEST_F(LeaderTest, TheLastOneLeavesNothingLocked) {
    candidate("host-1").reset();
    EXPECT_EQ(leading(), "");
    EXPECT_EQ(record.at_work, 0);
}

TEST_F(LeaderTest, ACandidateThatWaitsEndsAtOnce) {
    const Lease held = locks.try_lock(billing, {.owner = "somebody", .ttl = 1h}).value();
    candidate("host-1").reset();
    EXPECT_EQ(record.terms, 0);
    EXPECT_EQ(leading(), "somebody");
}

TEST_F(LeaderTest, StopsTheWorkWhenItsLeaseIsBrokenAndLeadsAgainLater) {
    const Leader leader{
        locks,
        billing,
        {.name = "host-1", .ttl = 300ms},
        [this](const std::stop_token& stop, Fence fence) { record.work(stop, fence); }};
    ASSERT_TRUE(eventually([&] { return record.terms == 1; }));
    ASSERT_TRUE(locks.break_lock(billing, record.latest, "root", "test"));
    ASSERT_TRUE(eventually([&] { return record.terms == 2; }));
    EXPECT_EQ(record.most_at_work, 1);
    EXPECT_TRUE(record.fences_grow);
}

TEST_F(LeaderTest, WorkThatReturnsHandsOver) {
    std::atomic<int> done = 0;
    const Leader short_lived{
        locks, billing, {.name = "host-1"}, [&](const std::stop_token&, Fence) { ++done; }};
    ASSERT_TRUE(eventually([&] { return done == 1; }));
    const auto second = candidate("host-2");
    EXPECT_TRUE(eventually([&] { return second->leads(); }));
}

TEST_F(LeaderTest, WorkThatThrowsIsReportedAndTriedAgain) {
    std::atomic<int> attempts = 0;
    std::mutex mutex;
    std::vector<std::string> errors;
    const Leader leader{locks,
                        billing,
                        {.name = "host-1",
                         .on_error =
                             [&](const std::exception& error) {
                                 const std::lock_guard lock{mutex};
                                 errors.emplace_back(error.what());
                             }},
                        [&](const std::stop_token& stop, Fence fence) {
                            if (++attempts == 1) throw std::runtime_error{"no paper"};
                            record.work(stop, fence);
                        }};
    ASSERT_TRUE(eventually([&] { return leader.leads() && record.terms == 1; }));
    const std::lock_guard lock{mutex};
    EXPECT_EQ(errors, std::vector<std::string>{"no paper"});
}

TEST_F(LeaderTest, RefusesOptionsThatCannotWork) {
    const auto with = [&](const LeaderOptions& options) {
        const Leader leader{locks, billing, options, [](const std::stop_token&, Fence) {}};
    };
    EXPECT_THROW(with({}), BadRequest);
    EXPECT_THROW((Leader{locks, billing, {.name = "host-1"}, {}}), BadRequest);
    EXPECT_THROW(with({.name = "host-1", .ttl = until_released}), BadRequest);
    EXPECT_THROW(with({.name = "host-1", .ttl = 48h}), BadRequest);
    EXPECT_THROW(with({.name = "host-1", .margin = 30s}), BadRequest);
    EXPECT_THROW(with({.name = "host\n1"}), BadRequest);
    EXPECT_EQ(leading(), "");
}

}  // namespace
}  // namespace leasehold::testing
