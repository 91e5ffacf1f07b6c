#include "core/batcher.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <thread>

#include "unit/gated_batcher.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;
using Sizes = std::vector<std::size_t>;

Limits batches_of(std::size_t requests) {
    Limits limits;
    limits.batch_requests = requests;
    return limits;
}

Limits queue_of(std::size_t requests) {
    Limits limits;
    limits.queued_requests = requests;
    return limits;
}

TEST(Batcher, AnIdleCallerAppliesItsRequestOnItsOwnThread) {
    GatedBatcher bench;
    EXPECT_EQ(bench.ask("a"), "a");
    EXPECT_EQ(bench.echo_store().last_thread(), std::this_thread::get_id());
    EXPECT_EQ(bench.gate.batch_sizes(), Sizes{1});
}

TEST(Batcher, CallersThatArriveWhileTheStoreWorksTravelInOneBatch) {
    GatedBatcher bench;
    bench.gate.close();
    std::vector<std::string> answers(8);
    Callers callers;
    callers.start([&] { answers[0] = bench.ask("0"); });
    ASSERT_TRUE(bench.gate.wait_until_held());
    for (std::size_t i = 1; i < answers.size(); ++i) {
        callers.start([&, i] { answers[i] = bench.ask(std::to_string(i)); });
    }
    ASSERT_TRUE(callers.wait_until_asleep());
    EXPECT_EQ(bench.gate.batch_sizes(), Sizes{1});

    bench.gate.open();
    ASSERT_TRUE(callers.wait_until_returned());
    EXPECT_EQ(bench.gate.batch_sizes(), (Sizes{1, 7}));
    for (std::size_t i = 0; i < answers.size(); ++i) EXPECT_EQ(answers[i], std::to_string(i));
}

TEST(Batcher, SubmittedRequestsThatArriveWhileTheStoreWorksTravelInOneBatchInTheirOrder) {
    GatedBatcher bench;
    bench.keep_busy();
    for (const char* id : {"a", "b", "c"}) bench.submit(id);
    bench.gate.open();
    ASSERT_TRUE(bench.replies.wait_for(4));
    EXPECT_EQ(bench.replies.wrong(), 0U);

    const auto batches = bench.gate.batches();
    ASSERT_EQ(bench.gate.batch_sizes(), (Sizes{1, 3}));
    EXPECT_EQ(std::get<History>(batches[1][0]).key->id(), "a");
    EXPECT_EQ(std::get<History>(batches[1][1]).key->id(), "b");
    EXPECT_EQ(std::get<History>(batches[1][2]).key->id(), "c");
}

TEST(Batcher, BlockingAndSubmittedRequestsTravelTogether) {
    GatedBatcher bench;
    bench.keep_busy();
    std::vector<std::string> answers(3);
    Callers callers;
    for (std::size_t i = 0; i < answers.size(); ++i) {
        callers.start([&, i] { answers[i] = bench.ask(std::to_string(i)); });
        bench.submit("submitted " + std::to_string(i));
    }
    ASSERT_TRUE(callers.wait_until_asleep());
    bench.gate.open();
    ASSERT_TRUE(callers.wait_until_returned());
    ASSERT_TRUE(bench.replies.wait_for(4));
    EXPECT_EQ(bench.gate.batch_sizes(), (Sizes{1, 6}));
    EXPECT_EQ(bench.replies.wrong(), 0U);
    EXPECT_EQ(answers, (std::vector<std::string>{"0", "1", "2"}));
}

TEST(Batcher, AGroupIsNeverLargerThanTheLimit) {
    GatedBatcher bench{batches_of(4)};
    bench.keep_busy();
    for (int i = 0; i < 10; ++i) bench.submit(std::to_string(i));
    bench.gate.open();
    ASSERT_TRUE(bench.replies.wait_for(11));
    EXPECT_EQ(bench.gate.batch_sizes(), (Sizes{1, 4, 4, 2}));
    EXPECT_EQ(bench.replies.wrong(), 0U);
}

TEST(Batcher, AFullQueueAnswersAFaultThatHadNoEffect) {
    GatedBatcher bench{queue_of(3)};
    bench.keep_busy();
    for (const char* id : {"a", "b", "c"}) bench.submit(id);

    const Outcome asked = bench.batcher().ask(echo("asked"));
    ASSERT_TRUE(std::holds_alternative<StoreFault>(asked));
    EXPECT_EQ(std::get<StoreFault>(asked).effect(), StoreFault::Effect::none);
    EXPECT_EQ(std::get<StoreFault>(asked).cause(), StoreFault::Cause::unavailable);

    Outcome submitted;
    bench.batcher().submit(echo("submitted"),
                           [&](Outcome outcome) { submitted = std::move(outcome); });
    ASSERT_TRUE(std::holds_alternative<StoreFault>(submitted));
    EXPECT_EQ(std::get<StoreFault>(submitted).effect(), StoreFault::Effect::none);

    bench.gate.open();
    ASSERT_TRUE(bench.replies.wait_for(4));
    EXPECT_EQ(bench.gate.batch_sizes(), (Sizes{1, 3}));
    EXPECT_EQ(bench.ask("after"), "after");
    EXPECT_EQ(bench.replies.wrong(), 0U);
}

TEST(Batcher, AFaultReachesEveryRequestOfItsBatchThatHasNoAnswerAndNoOther) {
    GatedBatcher bench{batches_of(4), 1, [](const Request& request) {
                           if (std::get<History>(request).key->id() == "c") {
                               throw StoreFault{StoreFault::Effect::unknown,
                                                StoreFault::Cause::unavailable, "cut"};
                           }
                           return EchoStore::echo_one(request);
                       }};
    bench.keep_busy();
    for (const char* id : {"a", "b", "c", "d", "e", "f"}) bench.submit(id);
    bench.gate.open();
    ASSERT_TRUE(bench.replies.wait_for(7));
    EXPECT_EQ(bench.replies.answers(),
              (std::map<std::string, std::vector<std::string>>{{"first", {"first"}},
                                                               {"a", {"a"}},
                                                               {"b", {"b"}},
                                                               {"c", {"fault: cut"}},
                                                               {"d", {"fault: cut"}},
                                                               {"e", {"e"}},
                                                               {"f", {"f"}}}));
}

TEST(Batcher, AFaultReachesBlockingCallersAsAnOutcome) {
    GatedBatcher bench{{}, 1, [](const Request&) -> Outcome {
                           throw StoreFault{StoreFault::Effect::unknown,
                                            StoreFault::Cause::configuration, "no"};
                       }};
    const Outcome outcome = bench.batcher().ask(echo("a"));
    ASSERT_TRUE(std::holds_alternative<StoreFault>(outcome));
    EXPECT_EQ(std::get<StoreFault>(outcome).effect(), StoreFault::Effect::unknown);
    EXPECT_EQ(std::get<StoreFault>(outcome).cause(), StoreFault::Cause::configuration);
}

TEST(Batcher, AnExceptionNobodyExpectedIsAFaultOfUnknownEffect) {
    GatedBatcher bench{{}, 1, [](const Request& request) -> Outcome {
                           if (std::get<History>(request).key->id() == "good") {
                               return EchoStore::echo_one(request);
                           }
                           throw std::logic_error{"a bug in the store"};
                       }};
    const Outcome outcome = bench.batcher().ask(echo("bad"));
    ASSERT_TRUE(std::holds_alternative<StoreFault>(outcome));
    EXPECT_EQ(std::get<StoreFault>(outcome).effect(), StoreFault::Effect::unknown);
    EXPECT_EQ(std::get<StoreFault>(outcome).cause(), StoreFault::Cause::internal);
    EXPECT_EQ(bench.ask("good"), "good");
}

TEST(Batcher, ASubmittedRequestIsNotAppliedOnTheThreadThatSubmitsIt) {
    GatedBatcher bench;
    bench.keep_busy();  // returned although the store is at work
    bench.gate.open();
    ASSERT_TRUE(bench.replies.wait_for(1));
    EXPECT_NE(bench.echo_store().last_thread(), std::this_thread::get_id());
}

TEST(Batcher, RequestsThatAreOnlySubmittedAreEachAnsweredOnce) {
    GatedBatcher bench{batches_of(16)};
    for (int i = 0; i < 1000; ++i) bench.submit(std::to_string(i));
    ASSERT_TRUE(bench.replies.wait_for(1000));
    bench.destroy();
    EXPECT_EQ(bench.replies.count(), 1000U);
    EXPECT_EQ(bench.replies.wrong(), 0U);
}

TEST(Batcher, AReplyMaySubmitTheNextRequest) {
    GatedBatcher bench;
    std::function<void(int)> submit = [&](int left) {
        bench.batcher().submit(echo(std::to_string(left)), [&, left](const Outcome& outcome) {
            if (left > 0) submit(left - 1);
            bench.replies.take(std::to_string(left))(outcome);
        });
    };
    submit(100);
    ASSERT_TRUE(bench.replies.wait_for(101));
    EXPECT_EQ(bench.replies.wrong(), 0U);
}

TEST(Batcher, EveryRequestIsAnsweredOnceWhileTheBatcherIsBeingDestroyed) {
    GatedBatcher bench{batches_of(8)};
    bench.keep_busy();
    for (int i = 0; i < 50; ++i) bench.submit(std::to_string(i));
    Callers destroyer;
    destroyer.start([&] { bench.destroy(); });
    ASSERT_TRUE(destroyer.wait_until_asleep());
    EXPECT_EQ(bench.replies.count(), 0U);

    bench.gate.open();
    ASSERT_TRUE(destroyer.wait_until_returned());
    EXPECT_EQ(bench.replies.count(), 51U);
    EXPECT_EQ(bench.replies.wrong(), 0U);
}

TEST(Batcher, AFaultWhileBeingDestroyedIsAnAnswerToo) {
    GatedBatcher bench{{}, 1, [](const Request&) -> Outcome {
                           throw StoreFault{StoreFault::Effect::none,
                                            StoreFault::Cause::unavailable, "gone away"};
                       }};
    bench.keep_busy();
    for (int i = 0; i < 5; ++i) bench.submit(std::to_string(i));
    Callers destroyer;
    destroyer.start([&] { bench.destroy(); });
    ASSERT_TRUE(destroyer.wait_until_asleep());
    bench.gate.open();
    ASSERT_TRUE(destroyer.wait_until_returned());
    EXPECT_EQ(bench.replies.count(), 6U);
    for (const auto& [id, answers] : bench.replies.answers()) {
        EXPECT_EQ(answers, std::vector<std::string>{"fault: gone away"}) << id;
    }
}

TEST(Batcher, AStoreThatTakesSeveralAtOnceIsGivenThatManyAndNoMore) {
    GatedBatcher bench{{}, 3};
    bench.gate.close();
    Callers callers;
    std::vector<std::string> answers(5);
    for (std::size_t i = 0; i < 3; ++i) {
        callers.start([&, i] { answers[i] = bench.ask(std::to_string(i)); });
        ASSERT_TRUE(bench.gate.wait_until_held(i + 1));
    }
    for (std::size_t i = 3; i < 5; ++i) {
        callers.start([&, i] { answers[i] = bench.ask(std::to_string(i)); });
    }
    ASSERT_TRUE(callers.wait_until_asleep());
    EXPECT_EQ(bench.gate.batch_sizes(), (Sizes{1, 1, 1}));

    bench.gate.let_pass();
    ASSERT_TRUE(eventually([&] { return bench.gate.batch_sizes() == Sizes{1, 1, 1, 2}; }));
    bench.gate.open();
    ASSERT_TRUE(callers.wait_until_returned());
    for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(answers[i], std::to_string(i));
    EXPECT_FALSE(bench.echo_store().was_overrun());
}

}  // namespace
}  // namespace leasehold::testing
