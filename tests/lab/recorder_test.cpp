#include <gtest/gtest.h>

#include <leasehold/lock_manager.hpp>
#include <leasehold/store.hpp>
#include <leasehold/stores/memory.hpp>

#include <filesystem>
#include <fstream>

#include "lab/history.hpp"
#include "lab/recorder.hpp"
#include "support/process.hpp"

namespace leasehold::lab {
namespace {

// Answers the first request of a batch and then loses its connection.
class HalfStore final : public Store {
public:
    void apply(std::span<const Request> requests, std::span<Outcome> outcomes) override {
        store_->apply(requests.first(1), outcomes.first(1));
        throw StoreFault{StoreFault::Effect::unknown, StoreFault::Cause::unavailable, "lost"};
    }
    [[nodiscard]] std::size_t concurrency() const noexcept override { return 1; }
    [[nodiscard]] StoreStatus status() override { return store_->status(); }

private:
    std::unique_ptr<Store> store_ = memory::open();
};

class RecorderTest : public ::testing::Test {
protected:
    [[nodiscard]] Operations read() const {
        std::ifstream in{file_};
        return read_history(in);
    }

    testing::TemporaryFolder folder_;
    const std::filesystem::path file_ = folder_.path() / "history";
    std::shared_ptr<Recorder> recorder_ = std::make_shared<Recorder>(file_);
    const LockKey key_{"Order", "1"};
};

TEST_F(RecorderTest, WritesWhatWasAskedAndAnsweredOnOneClock) {
    const auto before = SteadyClock::now();
    LockManager locks{std::make_unique<RecordingStore>(memory::open(), recorder_, "somebody")};
    const auto lease = locks.try_lock(key_, {.owner = "alice"});
    ASSERT_TRUE(lease);
    EXPECT_FALSE(locks.try_lock(key_, {.owner = "bob"}));

    const Operations told = read();
    ASSERT_EQ(told.size(), 2U);
    EXPECT_EQ(told[0].client, "somebody");
    EXPECT_EQ(std::get<TryLock>(told[0].request).owner, "alice");
    EXPECT_EQ(std::get<Lease>(told[0].outcome).fence, lease->fence);
    EXPECT_EQ(std::get<Lease>(told[0].outcome).store_now, lease->store_now);
    EXPECT_GE(told[0].called, before);
    EXPECT_GE(*told[0].returned, told[0].called);
    EXPECT_LE(*told[0].returned, told[1].called);
    EXPECT_TRUE(told[1].is_refused());
}

TEST_F(RecorderTest, KeepsEachAnswerOfABatchThatBrokeOff) {
    RecordingStore store{std::make_unique<HalfStore>(), recorder_, "somebody"};
    const std::vector<Request> requests(
        2, TryLock{.key = key_, .lock_id = LockId::random(), .ttl = std::chrono::seconds{1}});
    std::vector<Outcome> outcomes(2);
    EXPECT_THROW(store.apply(requests, outcomes), StoreFault);

    const Operations told = read();
    ASSERT_EQ(told.size(), 2U);
    EXPECT_TRUE(std::holds_alternative<Lease>(told[0].outcome));
    EXPECT_TRUE(told[1].is_unknown());
    EXPECT_TRUE(told[1].returned);
}

TEST_F(RecorderTest, OfAKilledProcessLeavesQuestionsWithoutAnAnswerAndHalfALine) {
    recorder_->write(R"({"number":1,"client":"c","called_us":5,"request":{"op":"check",)"
                     R"("lock_id":"00000000-0000-4000-8000-000000000001"}})"
                     "\n"
                     R"({"number":2,"client":"c","called)");
    const Operations told = read();
    ASSERT_EQ(told.size(), 1U);
    EXPECT_TRUE(told[0].is_unknown());
}

}  // namespace
}  // namespace leasehold::lab
