#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <leasehold/leasehold.hpp>

#include "support/private_etcd.hpp"

// Three members, of which one breaks.
namespace leasehold::etcd {
namespace {

using namespace std::chrono_literals;
using leasehold::testing::PrivateEtcd;

// Asks until the store answers; each time with the same lock id.
template <class Ask>
auto settle(Ask ask) {
    const auto give_up = std::chrono::steady_clock::now() + 120s;
    for (;;) {
        try {
            return ask();
        } catch (const StoreFault& fault) {
            EXPECT_EQ(fault.cause(), StoreFault::Cause::unavailable) << fault.what();
            if (std::chrono::steady_clock::now() > give_up) throw;
            std::this_thread::sleep_for(10ms);
        }
    }
}

class EtcdCluster : public ::testing::Test {
protected:
    Lease take(const LockKey& key, const std::string& owner) {
        const LockId id = LockId::random();
        const auto lease = settle(
            [&] { return locks_.try_lock(key, {.owner = owner, .ttl = 10min, .lock_id = id}); });
        if (!lease) throw std::runtime_error{lease.error().message()};
        return *lease;
    }

    void expect_held(const std::vector<Lease>& leases) {
        for (const Lease& lease : leases) {
            const auto alive = settle([&] { return locks_.check(lease.key, lease.lock_id); });
            ASSERT_TRUE(alive) << alive.error().message();
            EXPECT_EQ(alive->fence, lease.fence);
        }
    }

    std::vector<Lease> take_some(const std::string& type, int count) {
        std::vector<Lease> leases;
        for (int i = 0; i < count; ++i) {
            leases.push_back(take({type, std::to_string(i)}, "alice/" + std::to_string(i)));
        }
        return leases;
    }

    // Nobody else gets what is held.
    void expect_refused_to_others(const std::vector<Lease>& leases) {
        for (const Lease& lease : leases) {
            EXPECT_FALSE(settle([&] { return locks_.try_lock(lease.key, {.owner = "bob"}); }));
        }
    }

    PrivateEtcd etcd_{{.members = 3, .gates_between = true}};
    LockManager locks_{settle([this] { return open_store(etcd_.url() + "?io_timeout_ms=2000"); })};
};

TEST_F(EtcdCluster, GoesOnWithoutTheMemberItAsked) {
    const auto before = take_some("before", 10);
    etcd_.kill(0);
    const auto during_the_outage = take_some("during-the-outage", 10);
    expect_held(before);
    etcd_.start(0);
    etcd_.kill(1);
    const auto after = take_some("after", 10);
    expect_held(before);
    expect_held(during_the_outage);
    expect_held(after);
}

TEST_F(EtcdCluster, LosesNothingWhileItsLeaderStandsStillAndGoesOn) {
    const auto before = take_some("before", 10);
    const std::size_t leader = etcd_.leader();
    etcd_.pause(leader);
    const auto during_the_outage = take_some("during-the-outage", 10);
    expect_held(before);
    etcd_.resume(leader);
    const auto after = take_some("after", 10);
    expect_held(before);
    expect_held(during_the_outage);
    expect_held(after);
    expect_refused_to_others(before);
}

TEST_F(EtcdCluster, LosesNothingWhileItsLeaderIsCutOffFromTheOthers) {
    const auto before = take_some("before", 10);
    const std::size_t leader = etcd_.leader();
    etcd_.cut_off(leader);
    const auto during_the_outage = take_some("during-the-outage", 10);
    // The others have elected one of themselves.
    EXPECT_NE(etcd_.leader((leader + 1) % 3), leader);
    expect_held(before);
    etcd_.join_again();
    const auto after = take_some("after", 10);
    expect_held(before);
    expect_held(during_the_outage);
    expect_held(after);
    expect_refused_to_others(during_the_outage);
}

TEST_F(EtcdCluster, LosesNothingWhenAllMembersAreKilledAtOnce) {
    const auto before = take_some("before", 10);
    etcd_.kill_all();
    EXPECT_THROW((void)locks_.try_lock({"Order", "1"}, {.owner = "alice"}), StoreFault);
    etcd_.start_all();
    const auto after = take_some("after", 10);
    expect_held(before);
    expect_held(after);
    expect_refused_to_others(before);
}

TEST_F(EtcdCluster, WithoutAMajorityNothingIsAnsweredAndNothingIsLost) {
    const auto before = take_some("before", 5);
    etcd_.kill(1);
    etcd_.kill(2);
    const LockId id = LockId::random();
    const LockKey key{"Order", "1"};
    EXPECT_THROW((void)locks_.try_lock(key, {.owner = "alice", .lock_id = id}), StoreFault);
    EXPECT_THROW((void)locks_.check(before[0].key, before[0].lock_id), StoreFault);
    std::thread other{[&] { etcd_.start(1); }};
    const auto lease =
        settle([&] { return locks_.try_lock(key, {.owner = "alice", .lock_id = id}); });
    other.join();
    ASSERT_TRUE(lease);
    EXPECT_EQ(lease->lock_id, id);
    expect_held(before);
}

}  // namespace
}  // namespace leasehold::etcd
