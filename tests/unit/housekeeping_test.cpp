#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <thread>

#include "core/batcher.hpp"
#include "unit/waiting.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

// Answers every request at once. Its housekeeping is stuck until the test allows it to continue.
class UntidyStore final : public Store {
public:
    void apply(std::span<const Request> requests, std::span<Outcome> outcomes) override {
        for (std::size_t i = 0; i < requests.size(); ++i) outcomes[i] = HolderPage{};
    }
    [[nodiscard]] std::size_t concurrency() const noexcept override { return concurrency_; }
    [[nodiscard]] Duration housekeeping_interval() const noexcept override { return interval_; }
    [[nodiscard]] StoreStatus status() override { return {}; }
    [[nodiscard]] bool keep_house() noexcept override {
        thread_ = std::this_thread::get_id();
        ++begun_;
        (void)eventually([this] { return ended_.load() < allowed_.load(); });
        ++ended_;
        return ended_ < pieces_;
    }

    [[nodiscard]] bool wait_until_begun(int pieces) const {
        return eventually([&] { return begun_.load() >= pieces; });
    }
    [[nodiscard]] bool wait_until_ended(int pieces) const {
        return eventually([&] { return ended_.load() >= pieces; });
    }
    [[nodiscard]] int begun() const { return begun_; }
    [[nodiscard]] std::thread::id thread() const { return thread_; }
    void allow(int pieces) { allowed_ += pieces; }
    void set_pieces(int pieces) { pieces_ = pieces; }
    void set_concurrency(std::size_t calls) { concurrency_ = calls; }
    void set_interval(Duration interval) { interval_ = interval; }

private:
    std::size_t concurrency_ = 1;
    Duration interval_ = std::chrono::minutes{1};
    std::atomic<int> pieces_{1};
    std::atomic<int> allowed_{0};
    std::atomic<int> begun_{0};
    std::atomic<int> ended_{0};
    std::atomic<std::thread::id> thread_;
};

const Request question = Holders{LockKey{"Order", "1"}};

class Housekeeping : public ::testing::Test {
protected:
    [[nodiscard]] bool answered() {
        return std::holds_alternative<HolderPage>(batcher_->ask(Request{question}));
    }
    void open(Duration interval) {
        Batcher::Options options;
        options.housekeeping_interval = interval;
        batcher_.emplace(store_, limits_, options);
    }

    UntidyStore store_;
    const Limits limits_;
    std::optional<Batcher> batcher_;
};

TEST_F(Housekeeping, ARequestIsAnsweredWhileTheHousekeepingItCausedIsStuck) {
    open(1ms);
    std::this_thread::sleep_for(2ms);  // now it is due
    EXPECT_TRUE(answered());
    ASSERT_TRUE(store_.wait_until_begun(1));
    EXPECT_NE(store_.thread(), std::this_thread::get_id());
    store_.allow(1'000'000);
}

TEST_F(Housekeeping, IsNotDoneBeforeItIsDue) {
    open(1h);
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(answered());
    EXPECT_EQ(store_.begun(), 0);
}

TEST_F(Housekeeping, ARequestThatArrivesDuringItWaitsForOnePieceOnly) {
    store_.set_pieces(1'000);
    open(1ms);
    std::this_thread::sleep_for(2ms);
    EXPECT_TRUE(answered());
    ASSERT_TRUE(store_.wait_until_begun(1));
    // Both are in the queue before the piece ends.
    std::promise<void> first;
    std::promise<void> second;
    batcher_->submit(Request{question}, [&](const Outcome&) { first.set_value(); });
    batcher_->submit(Request{question}, [&](const Outcome&) { second.set_value(); });
    store_.allow(1);
    EXPECT_EQ(first.get_future().wait_for(60s), std::future_status::ready);
    EXPECT_EQ(second.get_future().wait_for(60s), std::future_status::ready);
    EXPECT_LE(store_.begun(), 2);  // the second piece is stuck again
    store_.allow(1'000'000);
}

TEST_F(Housekeeping, IsDoneAsOftenAsTheStoreSays) {
    store_.set_interval(1ms);
    store_.allow(1'000'000);
    batcher_.emplace(store_, limits_);
    EXPECT_TRUE(eventually([&] { return answered() && store_.begun() >= 3; }));
}

TEST_F(Housekeeping, OfAStoreThatTakesAnyNumberOfCallsIsDoneBesideThem) {
    store_.set_concurrency(Store::any_number);
    open(1ms);
    std::this_thread::sleep_for(2ms);
    EXPECT_TRUE(answered());
    ASSERT_TRUE(store_.wait_until_begun(1));
    EXPECT_NE(store_.thread(), std::this_thread::get_id());
    // The piece is stuck, and nobody waits for it.
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(answered());
    bool replied = false;
    batcher_->submit(Request{question}, [&](const Outcome&) { replied = true; });
    EXPECT_TRUE(replied);
    EXPECT_EQ(store_.begun(), 1);
    // The next one is due again, and a submitted request notices it, too.
    store_.allow(1'000'000);
    EXPECT_TRUE(eventually([&] {
        batcher_->submit(Request{question}, [](const Outcome&) {});
        return store_.begun() >= 3;
    }));
}

TEST_F(Housekeeping, GoesOnUntilTheStoreHasNothingMoreToDo) {
    store_.set_pieces(5);
    store_.allow(5);
    open(1ms);
    std::this_thread::sleep_for(2ms);
    EXPECT_TRUE(answered());
    EXPECT_TRUE(store_.wait_until_ended(5));
    store_.allow(1'000'000);
}

TEST_F(Housekeeping, EndsAfterItsPieceWhenTheBatcherIsDestroyed) {
    store_.set_pieces(1'000'000);
    open(1ms);
    std::this_thread::sleep_for(2ms);
    EXPECT_TRUE(answered());
    ASSERT_TRUE(store_.wait_until_begun(1));
    auto destroyed = std::async(std::launch::async, [&] { batcher_.reset(); });
    // Each piece ends only when the test lets it, and there are a million of them.
    int pieces = 1;
    for (; destroyed.wait_for(1ms) != std::future_status::ready; ++pieces) {
        ASSERT_LT(pieces, 60'000);
        store_.allow(1);
    }
    store_.allow(1'000'000);
}

}  // namespace
}  // namespace leasehold::testing
