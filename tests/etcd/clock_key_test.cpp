#include "stores/etcd/clock_key.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace leasehold::etcd {
namespace {

using namespace std::chrono_literals;
using Moment = ClockKey::Moment;

constexpr Time some_time{Duration{1'800'000'000'000'000}};

Moment at(Duration since_start) {
    return Moment{} + 1000s + since_start;
}

TEST(ClockKey, MayBeRaisedByNoMoreThanItWasSeenFor) {
    ClockKey clock;
    clock.saw({some_time, 5}, at(0s), at(1s));
    EXPECT_EQ(clock.step(at(1s)).to, some_time);
    EXPECT_LE(clock.step(at(11s)).to, some_time + 10s);
    EXPECT_GE(clock.step(at(11s)).to, some_time + 9900ms);
}

TEST(ClockKey, CountsAnewFromWhatAnotherWrote) {
    ClockKey clock;
    clock.saw({some_time, 5}, at(0s), at(0s));
    clock.saw({some_time + 1s, 6}, at(60s), at(61s));
    EXPECT_EQ(clock.step(at(61s)).to, some_time + 1s);
    // A reading that was under way at that time adds nothing.
    clock.saw({some_time, 5}, at(59s), at(62s));
    EXPECT_EQ(clock.latest().changed, 6);
}

TEST(ClockKey, KnowsNoTimeUntilItWasWrittenAfterItWasLookedAt) {
    ClockKey clock;
    EXPECT_FALSE(clock.is_known());
    clock.saw({some_time, 5}, at(0s), at(0s));
    EXPECT_FALSE(clock.is_known());
    clock.saw({some_time, 6}, at(1s), at(1s));
    EXPECT_TRUE(clock.is_known());
    EXPECT_EQ(clock.now(at(1s)), some_time + 1s);
}

TEST(ClockKey, ItsOwnWritingBringsTheBoundsTogether) {
    ClockKey clock;
    clock.saw({some_time, 5}, at(0s), at(0s));
    EXPECT_FALSE(clock.is_close(at(0s)));
    clock.wrote({some_time, 6}, at(0s), at(300ms));
    // Written again, it would take as long.
    EXPECT_TRUE(clock.is_close(at(300ms)));
    clock.wrote({clock.step(at(400ms)).to, 7}, at(400ms), at(402ms));
    EXPECT_TRUE(clock.is_close(at(402ms)));
    EXPECT_FALSE(clock.is_close(at(200s)));
    EXPECT_FALSE(clock.is_old(at(402ms)));
    EXPECT_TRUE(clock.is_old(at(2s)));
}

// Written by each who looks, it would never be seen unchanged for long by anybody.
TEST(ClockKey, AServerThatSawAnotherRaiseItLeavesItAlone) {
    ClockKey clock;
    clock.saw({some_time, 5}, at(0s), at(0s));
    clock.wrote({some_time, 6}, at(0s), at(0s));
    clock.saw({some_time + 1s, 7}, at(1900ms), at(1900ms));
    EXPECT_TRUE(clock.is_close(at(1900ms)));
    EXPECT_FALSE(clock.is_old(at(3s)));
    EXPECT_TRUE(clock.is_old(at(6s)));
    // A process that cannot know how much time the key has lost may not raise it.
    clock.saw({some_time + 50s, 8}, at(70s), at(70s));
    EXPECT_FALSE(clock.is_close(at(70s)));
}

TEST(ClockKey, NowNeverGoesBack) {
    ClockKey clock;
    clock.saw({some_time, 5}, at(0s), at(0s));
    clock.wrote({some_time, 6}, at(0s), at(0s));
    const Time before = clock.now(at(10s));
    clock.saw({some_time + 1s, 7}, at(10s), at(10s));
    clock.wrote({some_time + 1s, 8}, at(10s), at(10s));
    EXPECT_EQ(clock.now(at(10s)), before);
    EXPECT_GT(clock.now(at(20s)), before);
}

// Several processes whose clocks differ in speed and whose messages take their time, on one key.
class ManyClocks : public ::testing::TestWithParam<unsigned> {
protected:
    struct Process {
        ClockKey clock{};
        double speed = 1;
        Duration ahead{};
    };
    // A look at the key, or a writing, that is under way.
    struct Message {
        std::size_t process;
        Duration asked;
        Duration carried_out;
        Duration answered;
        ClockKey::Reading expected;
        Time written;
        bool writes;
        bool done = false;
        bool was_as_expected = false;
        ClockKey::Reading said{};
    };
    struct Lease {
        Duration asked;
        Duration ttl;
        Time expires;
    };

    Moment own_time(const Process& process, Duration real) const {
        return Moment{} + process.ahead +
               Duration{
                   static_cast<Duration::rep>(static_cast<double>(real.count()) * process.speed)};
    }
    Duration below(Duration most) {
        return Duration{
            static_cast<Duration::rep>(random_() % static_cast<unsigned long>(most.count()))};
    }

    std::mt19937_64 random_{GetParam()};
    std::vector<Process> processes_{5};
    ClockKey::Reading key_{some_time, 1};
};

TEST_P(ManyClocks, NoneEverRunsFastAndNoLeaseEndsBeforeItsTime) {
    for (Process& process : processes_) {
        process.speed = 1 + (static_cast<double>(random_() % 1000) - 500) * 1e-6;
        process.ahead = below(1000h);
    }
    std::vector<Message> messages;
    std::vector<Lease> leases;
    Duration real = 1s;
    const Duration start = real;
    for (int step = 0; step < 20'000; ++step) {
        real += random_() % 500 == 0 ? below(100s) : below(2ms);
        for (Message& message : messages) {
            if (!message.done && message.carried_out <= real) {
                message.done = true;
                message.was_as_expected = key_.changed == message.expected.changed;
                if (message.writes && message.was_as_expected) {
                    ASSERT_GE(message.written, key_.time);
                    key_ = {message.written, key_.changed + 1};
                }
                message.said = key_;
            }
            if (message.answered <= real) {
                Process& process = processes_[message.process];
                const Moment asked = own_time(process, message.asked);
                const Moment answered = own_time(process, message.answered);
                if (message.writes && message.was_as_expected) {
                    process.clock.wrote(message.said, asked, answered);
                } else {
                    process.clock.saw(message.said, asked, answered);
                }
            }
        }
        std::erase_if(messages, [&](const Message& m) { return m.answered <= real; });

        ASSERT_LE(key_.time - some_time, real - start) << "the key runs fast";
        for (const Lease& lease : leases) {
            ASSERT_TRUE(key_.time < lease.expires || real >= lease.asked + lease.ttl)
                << "a lease ended before its time";
        }
        std::erase_if(leases, [&](const Lease& lease) { return key_.time >= lease.expires; });

        const std::size_t index = random_() % processes_.size();
        Process& process = processes_[index];
        const Moment mine = own_time(process, real);
        if (process.clock.is_known()) {
            const Time now = process.clock.now(mine);
            ASSERT_GE(now, key_.time) << "somebody's time lies behind the key";
            if (leases.size() < 50) {
                const Duration ttl = 1ms + below(10s);
                leases.push_back({real, ttl, now + ttl});
            }
        }
        if (messages.size() < 10) {
            const Duration there = below(random_() % 50 == 0 ? 5s : 3ms);
            const Duration back = below(random_() % 50 == 0 ? 5s : 3ms);
            messages.push_back(
                {.process = index,
                 .asked = real,
                 .carried_out = real + there,
                 .answered = real + there + back,
                 .expected = process.clock.latest(),
                 .written = process.clock.step(mine).to,
                 .writes = random_() % 2 == 0 && process.clock.latest().changed > 0});
        }
    }
    EXPECT_GT(key_.time, some_time + 100s) << "it hardly ran at all";
}

INSTANTIATE_TEST_SUITE_P(, ManyClocks, ::testing::Range(1U, 21U));

}  // namespace
}  // namespace leasehold::etcd
