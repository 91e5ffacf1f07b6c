#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "unit/gated_batcher.hpp"

// A busy answer means that somebody's open transaction is on the lease: asked again for a while.
namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

// Answers requests on ids "busy ..." as busy the first few times.
class BusyAnswers {
public:
    explicit BusyAnswers(std::size_t times) : times_{times} {}

    [[nodiscard]] EchoStore::AnswerOne answer_one() {
        return [this](const Request& request) -> Outcome {
            const std::string id{std::get<History>(request).key->id()};
            const std::lock_guard lock{mutex_};
            if (!id.starts_with("busy") || ++asked_[id] > times_)
                return EchoStore::echo_one(request);
            Refusal refusal;
            refusal.kind = Refusal::Kind::busy;
            return refusal;
        };
    }

    [[nodiscard]] std::size_t asked(const std::string& id) {
        const std::lock_guard lock{mutex_};
        return asked_[id];
    }

private:
    const std::size_t times_;
    std::mutex mutex_;
    std::map<std::string, std::size_t> asked_;  // guarded by mutex_
};

constexpr std::size_t for_ever = std::numeric_limits<std::size_t>::max();

Limits patient_for(Duration patience) {
    Limits limits;
    limits.busy_patience = patience;
    return limits;
}

TEST(BatcherBusy, ABlockingCallerIsAnsweredOnceTheTransactionEnds) {
    BusyAnswers busy{3};
    GatedBatcher bench{patient_for(1h), 1, busy.answer_one()};
    EXPECT_EQ(bench.ask("busy"), "busy");
    EXPECT_EQ(busy.asked("busy"), 4U);
}

TEST(BatcherBusy, ASubmittedRequestIsAnsweredOnceTheTransactionEnds) {
    BusyAnswers busy{3};
    GatedBatcher bench{patient_for(1h), 1, busy.answer_one()};
    bench.submit("busy");
    ASSERT_TRUE(bench.replies.wait_for(1));
    EXPECT_EQ(busy.asked("busy"), 4U);
    EXPECT_EQ(bench.replies.wrong(), 0U);
}

TEST(BatcherBusy, ABlockingCallerIsRefusedWhenItsPatienceEnds) {
    BusyAnswers busy{for_ever};
    GatedBatcher bench{patient_for(1s), 1, busy.answer_one()};
    const auto asked_at = Batcher::Clock::now();
    const Outcome outcome = bench.batcher().ask(echo("busy"));
    EXPECT_GE(Batcher::Clock::now() - asked_at, 1s);
    ASSERT_TRUE(std::holds_alternative<Refusal>(outcome));
    EXPECT_EQ(std::get<Refusal>(outcome).kind, Refusal::Kind::busy);
    EXPECT_GT(busy.asked("busy"), 1U);
}

TEST(BatcherBusy, ASubmittedRequestIsRefusedWhenItsPatienceEnds) {
    BusyAnswers busy{for_ever};
    GatedBatcher bench{patient_for(1s), 1, busy.answer_one()};
    const auto asked_at = Batcher::Clock::now();
    bench.submit("busy it stays");
    ASSERT_TRUE(bench.replies.wait_for(1));
    EXPECT_GE(Batcher::Clock::now() - asked_at, 1s);
    EXPECT_EQ(bench.replies.answers()["busy it stays"], std::vector<std::string>{"busy"});
    EXPECT_GT(busy.asked("busy it stays"), 1U);
}

TEST(BatcherBusy, WithoutPatienceTheFirstAnswerIsFinal) {
    BusyAnswers busy{for_ever};
    GatedBatcher bench{patient_for(0ms), 1, busy.answer_one()};
    EXPECT_EQ(bench.ask("busy 1"), "busy");
    bench.submit("busy 2");
    ASSERT_TRUE(bench.replies.wait_for(1));
    EXPECT_EQ(busy.asked("busy 1"), 1U);
    EXPECT_EQ(busy.asked("busy 2"), 1U);
}

TEST(BatcherBusy, OnlyTheBusyRequestsOfABatchAreAskedAgain) {
    BusyAnswers busy{2};
    GatedBatcher bench{patient_for(1h), 1, busy.answer_one()};
    bench.keep_busy();
    Callers callers;
    callers.start([&] { EXPECT_EQ(bench.ask("busy asked"), "busy asked"); });
    callers.start([&] { EXPECT_EQ(bench.ask("asked"), "asked"); });
    for (const char* id : {"a", "busy submitted", "b"}) bench.submit(id);
    ASSERT_TRUE(callers.wait_until_asleep());
    bench.gate.open();
    ASSERT_TRUE(callers.wait_until_returned());
    ASSERT_TRUE(bench.replies.wait_for(4));
    EXPECT_EQ(bench.replies.wrong(), 0U);

    std::map<std::string, int> times;
    for (const auto& batch : bench.gate.batches()) {
        for (const Request& request : batch)
            ++times[std::string{std::get<History>(request).key->id()}];
    }
    EXPECT_EQ(times, (std::map<std::string, int>{{"first", 1},
                                                 {"asked", 1},
                                                 {"a", 1},
                                                 {"b", 1},
                                                 {"busy asked", 3},
                                                 {"busy submitted", 3}}));
}

TEST(BatcherBusy, NobodyElseWaitsForABusyOne) {
    BusyAnswers busy{for_ever};
    GatedBatcher bench{patient_for(1h), 1, busy.answer_one()};
    bench.submit("busy");
    ASSERT_TRUE(eventually([&] { return busy.asked("busy") > 0; }));
    EXPECT_EQ(bench.ask("asked"), "asked");
    bench.submit("submitted");
    ASSERT_TRUE(bench.replies.wait_for(1));
    EXPECT_EQ(bench.replies.answers(),
              (std::map<std::string, std::vector<std::string>>{{"submitted", {"submitted"}}}));
}

TEST(BatcherBusy, ASubmittedRequestIsAskedAgainHoweverManyOthersAsk) {
    BusyAnswers busy{3};
    GatedBatcher bench{patient_for(1h), 1, busy.answer_one()};
    std::atomic<bool> answered = false;
    std::vector<std::jthread> crowd;
    for (int i = 0; i < 8; ++i) {
        crowd.emplace_back([&] {
            while (!answered) EXPECT_EQ(bench.ask("asked"), "asked");
        });
    }
    bench.submit("busy");
    EXPECT_TRUE(bench.replies.wait_for(1));
    answered = true;
}

TEST(BatcherBusy, BeingDestroyedEndsAllPatience) {
    BusyAnswers busy{for_ever};
    GatedBatcher bench{patient_for(1h), 1, busy.answer_one()};
    for (int i = 0; i < 20; ++i) bench.submit("busy " + std::to_string(i));
    ASSERT_TRUE(eventually([&] { return busy.asked("busy 19") > 0; }));
    Callers destroyer;
    destroyer.start([&] { bench.destroy(); });
    ASSERT_TRUE(destroyer.wait_until_returned());
    EXPECT_EQ(bench.replies.count(), 20U);
    for (const auto& [id, answers] : bench.replies.answers()) {
        EXPECT_EQ(answers, std::vector<std::string>{"busy"}) << id;
    }
}

}  // namespace
}  // namespace leasehold::testing
