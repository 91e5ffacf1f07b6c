#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "unit/gated_batcher.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

std::string name(std::size_t thread, std::size_t i) {
    return std::to_string(thread) + "-" + std::to_string(i);
}

struct Crowd {
    std::size_t threads;
    std::size_t requests;  // of each thread
    unsigned submitted_percent;
    std::size_t concurrency;
    std::size_t batch_requests;
};

class BatcherStress : public ::testing::TestWithParam<Crowd> {};

TEST_P(BatcherStress, EveryAnswerGoesToItsOwnRequestAndNobodyIsLeftWaiting) {
    const Crowd& crowd = GetParam();
    Limits limits;
    limits.batch_requests = crowd.batch_requests;
    Replies replies;
    EchoStore store{crowd.concurrency, [](const Request& request) {
                        // Now and then somebody else gets to run while the store is at work.
                        thread_local std::minstd_rand random{1};
                        if (random() % 8 == 0) std::this_thread::yield();
                        return EchoStore::echo_one(request);
                    }};
    std::atomic<std::size_t> submitted{0};
    std::atomic<std::size_t> wrong{0};
    {
        Batcher batcher{store, limits};
        Callers callers;
        for (std::size_t t = 0; t < crowd.threads; ++t) {
            callers.start([&, t] {
                std::minstd_rand random{static_cast<unsigned>(t + 1)};
                for (std::size_t i = 0; i < crowd.requests; ++i) {
                    const std::string id = name(t, i);
                    if (random() % 100 < crowd.submitted_percent) {
                        ++submitted;
                        batcher.submit(echo(id), replies.take(id));
                    } else if (echoed(batcher.ask(echo(id))) != id) {
                        ++wrong;
                    }
                }
            });
        }
    }
    EXPECT_EQ(wrong, 0U);
    EXPECT_EQ(replies.count(), submitted);
    EXPECT_EQ(replies.answers().size(), submitted);
    EXPECT_EQ(replies.wrong(), 0U);
    EXPECT_FALSE(store.was_overrun());
}

INSTANTIATE_TEST_SUITE_P(Crowds, BatcherStress,
                         ::testing::Values(Crowd{8, 2000, 0, 1, 256}, Crowd{8, 2000, 50, 1, 256},
                                           Crowd{8, 2000, 50, 1, 1}, Crowd{8, 1000, 50, 3, 4},
                                           Crowd{4, 2000, 100, 1, 16}, Crowd{2, 3000, 30, 1, 2},
                                           Crowd{64, 100, 20, 2, 16}),
                         [](const auto& crowd) {
                             return std::to_string(crowd.param.threads) + "Threads" +
                                    std::to_string(crowd.param.submitted_percent) +
                                    "PercentSubmitted" + std::to_string(crowd.param.concurrency) +
                                    "AtOnce" + std::to_string(crowd.param.batch_requests) +
                                    "InABatch";
                         });

TEST(BatcherStress, BusyAndFaultyAnswersLeaveNobodyWaiting) {
    Limits limits;
    limits.batch_requests = 8;
    limits.busy_patience = 5ms;
    Replies replies;
    std::atomic<unsigned> calls{0};
    EchoStore store{2, [&](const Request& request) -> Outcome {
                        const unsigned call = ++calls;
                        if (call % 97 == 0) {
                            throw StoreFault{StoreFault::Effect::unknown,
                                             StoreFault::Cause::unavailable, "cut"};
                        }
                        if (call % 31 != 0) return EchoStore::echo_one(request);
                        Refusal refusal;
                        refusal.kind = Refusal::Kind::busy;
                        return refusal;
                    }};
    {
        Batcher batcher{store, limits};
        Callers callers;
        for (std::size_t t = 0; t < 6; ++t) {
            callers.start([&, t] {
                for (std::size_t i = 0; i < 1000; ++i) {
                    const std::string id = name(t, i);
                    if (i % 2 == 0) {
                        batcher.submit(echo(id), replies.take(id));
                    } else {
                        const std::string answer = echoed(batcher.ask(echo(id)));
                        EXPECT_TRUE(answer == id || answer == "busy" || answer == "fault: cut")
                            << answer;
                    }
                }
            });
        }
    }
    EXPECT_EQ(replies.count(), 3000U);
    for (const auto& [id, answers] : replies.answers()) {
        ASSERT_EQ(answers.size(), 1U) << id;
        EXPECT_TRUE(answers[0] == id || answers[0] == "busy" || answers[0] == "fault: cut")
            << answers[0];
    }
}

TEST(BatcherStress, DestroyedAtAnyMomentItHasAnsweredEverySubmittedRequestOnce) {
    for (std::size_t round = 0; round < 200; ++round) {
        Limits limits;
        limits.batch_requests = 1 + round % 5;
        Replies replies;
        EchoStore store{1 + round % 2};
        {
            Batcher batcher{store, limits};
            Callers callers;
            for (std::size_t t = 0; t < 3; ++t) {
                callers.start([&, t] {
                    for (std::size_t i = 0; i < 10; ++i) {
                        if ((i + t + round) % 4 == 0) {
                            EXPECT_EQ(echoed(batcher.ask(echo("asked"))), "asked");
                        }
                        batcher.submit(echo(name(t, i)), replies.take(name(t, i)));
                    }
                });
            }
        }
        ASSERT_EQ(replies.count(), 30U) << "in round " << round;
        ASSERT_EQ(replies.wrong(), 0U) << "in round " << round;
    }
}

}  // namespace
}  // namespace leasehold::testing
