#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "core/batcher.hpp"
#include "unit/distant_store.hpp"
#include "unit/gated_batcher.hpp"
#include "unit/waiting.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

// A request that changes the key.
Request change(const std::string& id) {
    return Renew{.key = LockKey{"Echo", id}, .lock_id = LockId::random(), .ttl = 1min};
}

class SpacedBatcher : public ::testing::Test {
protected:
    void submit(const std::string& id) { batcher_->submit(change(id), replies_.take(id)); }
    [[nodiscard]] std::string ask(const std::string& id) {
        return echoed(batcher_->ask(change(id)));
    }

    DistantStore store_;
    const Limits limits_;
    Replies replies_;
    std::unique_ptr<Batcher> batcher_ = std::make_unique<Batcher>(store_, limits_);
};

TEST_F(SpacedBatcher, SendsTheNextCallWhileOthersRun) {
    for (const std::string id : {"a", "b", "c"}) {
        store_.hold(id);
        submit(id);
        ASSERT_TRUE(store_.wait_for_call("first " + id));
    }
    EXPECT_EQ(store_.most_at_once(), 3U);
    for (const std::string id : {"a", "b", "c"}) store_.let_pass(id);
    EXPECT_TRUE(replies_.wait_for(3));
    EXPECT_EQ(replies_.wrong(), 0U);
}

TEST_F(SpacedBatcher, RunsNoMoreCallsThanTheStoreTakesAndGathersTheRest) {
    for (const std::string id : {"a", "b", "c", "d"}) {
        store_.hold(id);
        submit(id);
        ASSERT_TRUE(store_.wait_for_call("first " + id));
    }
    submit("e");
    submit("f");
    store_.let_pass("b");
    EXPECT_TRUE(store_.wait_for_call("first e f"));
    EXPECT_EQ(store_.most_at_once(), 4U);
    for (const std::string id : {"a", "c", "d"}) store_.let_pass(id);
    EXPECT_TRUE(replies_.wait_for(6));
    EXPECT_EQ(replies_.wrong(), 0U);
}

TEST_F(SpacedBatcher, GathersForTheSpacing) {
    store_.set_spacing(1h);
    store_.hold("a");
    submit("a");
    ASSERT_TRUE(store_.wait_for_call("first a"));
    submit("b");
    submit("c");
    EXPECT_EQ(store_.calls().size(), 1U);
    store_.let_pass("a");  // nothing runs any more, so nothing has to be spaced
    EXPECT_TRUE(store_.wait_for_call("first b c"));
    EXPECT_TRUE(replies_.wait_for(3));
}

TEST_F(SpacedBatcher, KeepsTheOrderOfAKeyAndLetsOtherKeysPass) {
    store_.hold("a");
    submit("a");
    ASSERT_TRUE(store_.wait_for_call("first a"));
    submit("a");
    submit("b");
    submit("a");
    EXPECT_TRUE(store_.wait_for_call("first b"));
    ASSERT_TRUE(eventually([&] { return replies_.count() == 1; }));
    store_.let_pass("a");
    EXPECT_TRUE(store_.wait_for_call("first a a"));
    EXPECT_TRUE(replies_.wait_for(4));
    EXPECT_FALSE(store_.clashed());
}

TEST_F(SpacedBatcher, AnswersWhatTheFirstCallAnswersBeforeTheRest) {
    store_.set_spacing(1h);
    store_.hold("x");
    store_.hold("rest");
    submit("x");
    ASSERT_TRUE(store_.wait_for_call("first x"));
    submit("quick");
    submit("slow");
    store_.let_pass("x");
    ASSERT_TRUE(store_.wait_for_call("first quick slow"));
    EXPECT_TRUE(store_.wait_for_call("rest slow"));
    EXPECT_TRUE(replies_.wait_for(2));
    store_.let_pass("rest");
    EXPECT_TRUE(replies_.wait_for(3));
    EXPECT_EQ(replies_.wrong(), 0U);
}

TEST_F(SpacedBatcher, ABlockingCallerWhoseRequestIsLeftGetsItsAnswer) {
    Callers callers;
    std::atomic<int> right{0};
    for (const std::string id : {"slow-1", "b", "slow-2", "d", "e"}) {
        callers.start([&, id] { right += ask(id) == id ? 1 : 0; });
    }
    ASSERT_TRUE(callers.wait_until_returned());
    EXPECT_EQ(right, 5);
}

TEST_F(SpacedBatcher, SlowRequestsLeaveOneCallToTheOthers) {
    store_.hold("rest");
    for (int i = 0; i < 8; ++i) {
        const std::string id = "slow-" + std::to_string(i);
        submit(id);
        ASSERT_TRUE(store_.wait_for_call("first " + id));
    }
    EXPECT_EQ(ask("quick"), "quick");
    EXPECT_EQ(replies_.count(), 0U);
    store_.let_pass("rest");
    EXPECT_TRUE(replies_.wait_for(8));
    EXPECT_EQ(replies_.wrong(), 0U);
}

TEST_F(SpacedBatcher, AnswersEverythingWhileItIsDestroyed) {
    for (int i = 0; i < 200; ++i) {
        submit((i % 3 == 0 ? "slow-" : "") + std::to_string(i));
    }
    batcher_.reset();
    EXPECT_EQ(replies_.count(), 200U);
    EXPECT_EQ(replies_.wrong(), 0U);
}

TEST_F(SpacedBatcher, ChangesBetweenSpacedAndSingleCallsUnderLoad) {
    std::atomic<bool> stop{false};
    std::jthread changer{[&] {
        while (!stop) {
            store_.set_spacing(store_.spacing() > 0us ? 0us : 20us);
            std::this_thread::sleep_for(100us);
        }
    }};
    constexpr int threads = 8, each = 2'000, keys = 20;
    std::atomic<int> wrong{0}, replies{0};
    {
        std::vector<std::jthread> callers;
        for (int t = 0; t < threads; ++t) {
            callers.emplace_back([&, t] {
                std::minstd_rand dice{static_cast<unsigned>(t + 1)};
                for (int i = 0; i < each; ++i) {
                    const std::string id =
                        (dice() % 4 == 0 ? "slow-" : "") + std::to_string(dice() % keys);
                    if (i % 2 == 0) {
                        if (ask(id) != id) ++wrong;
                        continue;
                    }
                    batcher_->submit(change(id), [&, id](const Outcome& outcome) {
                        if (echoed(outcome) != id) ++wrong;
                        ++replies;
                    });
                }
            });
        }
    }
    EXPECT_TRUE(eventually([&] { return replies == threads * each / 2; }));
    stop = true;
    EXPECT_EQ(wrong, 0);
}

TEST_F(SpacedBatcher, NeverHasAKeyInTwoCallsAtOnce) {
    store_.set_spacing(5us);
    std::atomic<int> replies{0};
    constexpr int requests = 20'000;
    std::minstd_rand dice{7};
    for (int i = 0; i < requests; ++i) {
        batcher_->submit(change((dice() % 5 == 0 ? "slow-" : "") + std::to_string(dice() % 30)),
                         [&](const Outcome&) { ++replies; });
        if (i % 50 == 0) std::this_thread::sleep_for(20us);
    }
    EXPECT_TRUE(eventually([&] { return replies == requests; }));
    EXPECT_FALSE(store_.clashed());
}

}  // namespace
}  // namespace leasehold::testing
