#include "core/lane_store.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <leasehold/lock_manager.hpp>

#include "unit/waiting.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

// What all lanes of a test share.
struct Database {
    std::atomic<Duration> call_takes{0us};
    std::atomic<int> opened{0};
    std::atomic<int> open{0};
    std::atomic<bool> refuses{false};    // new lanes
    std::atomic<int> fails_on_lane{-1};  // the number of the lane whose calls fail
};

class Lane final : public Store {
public:
    explicit Lane(Database& database) : database_{database}, number_{database.opened++} {
        ++database_.open;
    }
    ~Lane() override { --database_.open; }

    void apply(std::span<const Request> /*requests*/, std::span<Outcome> outcomes) override {
        if (inside_.exchange(true)) ADD_FAILURE() << "two calls on one lane";
        std::this_thread::sleep_for(database_.call_takes.load());
        inside_ = false;
        if (number_ == database_.fails_on_lane) {
            throw StoreFault{StoreFault::Effect::unknown, StoreFault::Cause::unavailable, "gone"};
        }
        for (Outcome& outcome : outcomes) outcome = HolderPage{};
    }
    [[nodiscard]] std::size_t concurrency() const noexcept override { return 1; }
    [[nodiscard]] StoreStatus status() override { return {.name = std::to_string(number_)}; }

private:
    Database& database_;
    const int number_;
    std::atomic<bool> inside_{false};
};

class LaneStoreTest : public ::testing::Test {
protected:
    // Sends requests that change something, in batches of one and of two.
    void work(int calls = 200) {
        const std::vector<Request> requests(
            2, Renew{.key = LockKey{"Order", "1"}, .lock_id = LockId::random(), .ttl = 1min});
        for (int i = 0; i < calls; ++i) {
            std::vector<Outcome> outcomes(1 + static_cast<std::size_t>(i % 2));
            try {
                store_.apply(std::span{requests}.first(outcomes.size()), outcomes);
            } catch (const StoreFault&) {
                ++faults_;
            }
        }
    }
    // As many calls at once as the store takes.
    void work_at_once() {
        std::vector<std::jthread> callers;
        for (std::size_t i = 0; i < store_.concurrency(); ++i) {
            callers.emplace_back([this] { work(20); });
        }
    }

    Database database_;
    std::atomic<int> faults_{0};
    LaneStore store_{[this](const std::shared_ptr<StoreClock>&) -> std::unique_ptr<Store> {
                         if (database_.refuses) {
                             throw StoreFault{StoreFault::Effect::none,
                                              StoreFault::Cause::unavailable, "too many"};
                         }
                         return std::make_unique<Lane>(database_);
                     },
                     StoreOptions{},
                     {.distant = 2ms}};
};

TEST_F(LaneStoreTest, ADatabaseThatIsNearHasOneLane) {
    database_.call_takes = 50us;
    work();
    EXPECT_EQ(store_.concurrency(), 1U);
    EXPECT_EQ(store_.spacing(), 0us);
    EXPECT_EQ(database_.opened, 1);
}

TEST_F(LaneStoreTest, ADistantDatabaseHasSeveralOnceRequestsGather) {
    database_.call_takes = 4ms;
    EXPECT_EQ(store_.concurrency(), 1U);
    work();
    EXPECT_TRUE(eventually([&] { return store_.concurrency() == 4; }));
    EXPECT_GE(store_.spacing(), 1ms);
    EXPECT_LT(store_.spacing(), 4ms);
    work_at_once();
    EXPECT_EQ(database_.opened, 4);
}

TEST_F(LaneStoreTest, IsNearAgainIfTheDatabaseComesNearer) {
    database_.call_takes = 4ms;
    work();
    ASSERT_TRUE(eventually([&] { return store_.concurrency() == 4; }));
    database_.call_takes = 50us;
    work();
    EXPECT_EQ(store_.concurrency(), 1U);
    EXPECT_EQ(store_.spacing(), 0us);
}

TEST_F(LaneStoreTest, GoesOnWithOneLaneIfNoOtherCanBeOpened) {
    database_.call_takes = 4ms;
    database_.refuses = true;
    work();
    EXPECT_EQ(store_.concurrency(), 1U);
    EXPECT_EQ(faults_, 0);
}

TEST_F(LaneStoreTest, ClosesALaneThatFailsAndOpensItAgain) {
    database_.call_takes = 4ms;
    work();
    ASSERT_TRUE(eventually([&] { return store_.concurrency() == 4; }));
    database_.fails_on_lane = 2;
    work_at_once();
    EXPECT_EQ(faults_, 1);
    work();
    EXPECT_TRUE(eventually([&] { return store_.concurrency() == 4; }));
    EXPECT_EQ(database_.open, 4);
    EXPECT_EQ(database_.opened, 5);
}

TEST_F(LaneStoreTest, KeepsTheFirstLaneThatFails) {
    database_.fails_on_lane = 0;
    work(10);
    EXPECT_EQ(faults_, 10);
    EXPECT_EQ(database_.open, 1);
    EXPECT_EQ(store_.status().name, "0");
}

TEST_F(LaneStoreTest, HousekeepingClosesLanesThatWereNotNeeded) {
    database_.call_takes = 4ms;
    work();
    ASSERT_TRUE(eventually([&] { return store_.concurrency() == 4; }));
    (void)store_.keep_house();  // they were needed before this one
    EXPECT_EQ(store_.concurrency(), 4U);
    (void)store_.keep_house();
    EXPECT_EQ(store_.concurrency(), 1U);
    EXPECT_EQ(database_.open, 1);
}

}  // namespace
}  // namespace leasehold::testing
