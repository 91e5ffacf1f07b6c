// A database at a distance, which the store uses through several connections.
#include <algorithm>
#include <atomic>
#include <mutex>

#include "faults/databases.hpp"
#include "support/tcp_gate.hpp"

namespace leasehold::faults {
namespace {

constexpr std::size_t callers = 16;

class Distance : public ServerTest {
protected:
    Distance() { set_distance(); }

    void set_distance(double loss = 0) {
        gate_.set_conditions({.delay_from = 1ms, .delay_to = 1ms, .loss = loss});
    }
    // Until the store has found out how far away the database is.
    [[nodiscard]] bool has_several_connections() {
        return eventually([&] {
            (void)renew_for(200ms);
            return gate_.connections() - before_ >= 4;
        });
    }

    // Each caller renews its own lease all the time. Returns how long the renewals took, sorted.
    std::vector<Duration> renew_for(Duration duration) {
        std::mutex mutex;
        std::vector<Duration> all;
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < callers; ++i) {
            threads.emplace_back([&, i] {
                const LockKey key{"Order", std::to_string(i)};
                std::vector<Duration> took;
                const auto lease = ask_until_answered(
                    [&] { return locks_.try_lock(key, {.owner = std::to_string(i)}); });
                if (!lease) return void(++refused_);
                for (const auto end = SteadyClock::now() + duration; SteadyClock::now() < end;) {
                    const auto begun = SteadyClock::now();
                    try {
                        if (!locks_.renew(key, lease->lock_id, 5min)) ++refused_;
                    } catch (const StoreFault&) {
                        ++faults_;
                    }
                    took.push_back(SteadyClock::now() - begun);
                }
                const std::lock_guard lock{mutex};
                all.insert(all.end(), took.begin(), took.end());
            });
        }
        threads.clear();
        std::ranges::sort(all);
        return all;
    }

    testing::TcpGate gate_{"127.0.0.1", database().port()};
    LockManager locks_{open_store(database().url(name(), gate_.port()))};
    const std::size_t before_ = gate_.connections() - 1;
    std::atomic<int> refused_{0};
    std::atomic<int> faults_{0};
};
INSTANTIATE_TEST_SUITE_P(, Distance, ::testing::ValuesIn(every_server()), by_store());

TEST_P(Distance, HasSeveralConnectionsAndRefusesNobody) {
    EXPECT_TRUE(has_several_connections());
    EXPECT_EQ(refused_, 0);
    EXPECT_EQ(faults_, 0);
}

TEST_P(Distance, AGuardedKeyDelaysNoOther) {
    ASSERT_TRUE(has_several_connections());
    const auto quiet = renew_for(1s);
    const LockKey guarded{"Order", "guarded"};
    const Lease lease = locks_.try_lock(guarded, {.owner = "alice"}).value();
    const auto session = connect();
    session->run("begin");
    ASSERT_TRUE(session->guard(guarded, lease.lock_id));
    std::vector<Duration> beside;
    {
        std::atomic<bool> over{false};
        std::vector<std::jthread> renewers;
        for (int i = 0; i < 4; ++i) {
            renewers.emplace_back([&] {
                while (!over) {
                    const auto renewed = locks_.renew(guarded, lease.lock_id, 5min);
                    EXPECT_FALSE(renewed);
                }
            });
        }
        beside = renew_for(1s);
        over = true;
    }
    session->run("rollback");
    ASSERT_FALSE(beside.empty());
    // Only calls of several round trips meet the guarded key.
    EXPECT_LT(beside[beside.size() / 2], 3 * quiet[quiet.size() / 2]);
    EXPECT_EQ(refused_, 0);
    EXPECT_TRUE(locks_.renew(guarded, lease.lock_id, 5min));
}

TEST_P(Distance, EverythingIsAnsweredWhilePacketsAreLost) {
    ASSERT_TRUE(has_several_connections());
    set_distance(0.02);
    const auto took = renew_for(2s);
    EXPECT_EQ(refused_, 0);
    EXPECT_EQ(faults_, 0);
    EXPECT_GT(took.size(), 10 * callers);
}

TEST_P(Distance, RecoversFromTheLossOfAllConnections) {
    ASSERT_TRUE(has_several_connections());
    const std::size_t before = gate_.connections();
    {
        const std::jthread cutter{[&] {
            std::this_thread::sleep_for(200ms);
            gate_.cut();
        }};
        (void)renew_for(500ms);
    }
    EXPECT_EQ(refused_, 0);
    faults_ = 0;
    EXPECT_TRUE(eventually([&] {
        (void)renew_for(200ms);
        return gate_.connections() - before >= 4;
    }));
    faults_ = 0;
    (void)renew_for(200ms);
    EXPECT_EQ(faults_, 0);
    EXPECT_EQ(refused_, 0);
}

}  // namespace
}  // namespace leasehold::faults
