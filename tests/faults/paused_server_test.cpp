// The database is paused, as on a machine that swaps or a virtual machine that is being moved.
#include <array>

#include "faults/databases.hpp"

namespace leasehold::faults {
namespace {

class PausedServer : public ServerTest {
protected:
    ~PausedServer() override { database().resume(); }

    std::unique_ptr<Store> open_impatient() const {
        return ask_until_answered([&] { return open_store(url("io_timeout_ms=1000")); });
    }

    // The call ends with a fault, in time.
    template <class Call>
    static Effect fault_of(Call call) {
        const auto asked = SteadyClock::now();
        try {
            const auto answer = call();
            ADD_FAILURE() << "answered although the server stands still";
            return Effect::none;
        } catch (const StoreFault& fault) {
            EXPECT_LT(SteadyClock::now() - asked, a_call_ends_within) << fault.what();
            EXPECT_EQ(fault.cause(), Cause::unavailable) << fault.what();
            return fault.effect();
        }
    }
};
INSTANTIATE_TEST_SUITE_P(, PausedServer, ::testing::ValuesIn(every_server()), by_store());

TEST_P(PausedServer, EndsEveryCallInTimeAndAnswersTheTruthWhenItGoesOn) {
    LockManager locks{open_impatient()};
    LockManager other{open_store(url())};
    const LockKey tried{"Order", "tried"}, released{"Order", "released"},
        checked{"Order", "checked"};
    const LockId id = LockId::random();
    const auto to_release = other.try_lock(released);
    const auto to_check = other.try_lock(checked);
    ASSERT_TRUE(to_release && to_check);

    database().pause();
    fault_of([&] { return locks.try_lock(tried, {.lock_id = id}); });
    fault_of([&] { return locks.release(released, to_release->lock_id); });
    EXPECT_EQ(fault_of([&] { return locks.check(checked, to_check->lock_id); }), Effect::none);
    database().resume();

    // The same request with the same lock id settles the outcome.
    const auto lease = ask_until_answered([&] { return locks.try_lock(tried, {.lock_id = id}); });
    ASSERT_TRUE(lease) << lease.error().message();
    EXPECT_EQ(lease->lock_id, id);
    EXPECT_EQ(other.holders(tried).size(), 1U);
    EXPECT_EQ(other.check(tried, id).value().fence, lease->fence);

    const auto again =
        ask_until_answered([&] { return locks.release(released, to_release->lock_id); });
    EXPECT_TRUE(again || is_gone(again, Gone::released)) << again.error().message();
    EXPECT_TRUE(other.try_lock(released));
    EXPECT_TRUE(ask_until_answered([&] { return locks.check(checked, to_check->lock_id); }));
}

TEST_P(PausedServer, LetsALeaseDieWhoseRenewalArrivedTooLate) {
    LockManager locks{open_impatient()};
    LockManager other{open_store(url())};
    const LockKey key{"Order", "1"};
    constexpr auto ttl = 1500ms;
    const auto lease = other.try_lock(key, {.ttl = ttl});
    ASSERT_TRUE(lease);
    const auto dead_at = SteadyClock::now() + ttl;

    database().pause();
    // The request reaches the server's socket and waits there.
    fault_of([&] { return locks.renew(key, lease->lock_id, 1h); });
    ASSERT_TRUE(eventually([&] { return SteadyClock::now() > dead_at; }));
    database().resume();

    // The server carries out the old request now, or has noticed that its client has gone.
    EXPECT_TRUE(is_gone(other.check(key, lease->lock_id), Gone::expired));
    const auto next = ask_until_answered([&] {
        auto answer = other.try_lock(key, {.ttl = 1min});
        if (!answer) throw StoreFault{Effect::none, Cause::unavailable, answer.error().message()};
        return answer;
    });
    EXPECT_GT(next->fence, lease->fence);
    EXPECT_TRUE(is_gone(ask_until_answered([&] { return locks.renew(key, lease->lock_id, 1h); }),
                        Gone::taken));
}

TEST_P(PausedServer, EndsTheCallsOfManyThreadsAndServesThemAllAfterwards) {
    LockManager locks{open_impatient()};
    constexpr int callers = 4;
    database().pause();
    const auto asked = SteadyClock::now();
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < callers; ++i) {
            threads.emplace_back([&, i] {
                EXPECT_THROW((void)locks.try_lock({"Order", std::to_string(i)}), StoreFault);
            });
        }
    }
    // One request is sent alone, the others in a batch after it.
    EXPECT_LT(SteadyClock::now() - asked, 2 * a_call_ends_within);
    database().resume();
    for (int i = 0; i < callers; ++i) {
        const auto lease =
            ask_until_answered([&] { return locks.try_lock({"Other", std::to_string(i)}); });
        EXPECT_TRUE(lease);
    }
}

}  // namespace
}  // namespace leasehold::faults
