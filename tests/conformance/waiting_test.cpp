#include <atomic>
#include <future>
#include <stop_token>
#include <thread>

#include <leasehold/leader.hpp>

#include "conformance/conformance.hpp"

// Waiting for a lock and holding it, within one process and between two, on every store.
namespace leasehold::conformance {
namespace {

class Waiting : public ConformanceTest {
protected:
    static std::future<Result<Lease>> wait_for(LockManager& locks, const LockKey& key,
                                               const std::string& owner,
                                               std::stop_token stop = {}) {
        return std::async(std::launch::async, [&locks, key, owner, stop] {
            return locks.lock_for(key, 1h, {.owner = owner}, stop);
        });
    }

    // Threads of two processes take turns; no turn begins before another has ended.
    template <class Take>
    void take_turns(Take take) {
        const auto second = manager();
        LockManager* const managers[] = {&locks(), second.get()};
        std::atomic<int> inside = 0;
        std::atomic<int> turns = 0;
        std::atomic<bool> excluded = true;
        {
            std::vector<std::jthread> threads;
            for (int i = 0; i < 4; ++i) {
                threads.emplace_back([&, i] {
                    LockManager& own = *managers[i % 2];
                    const std::string owner = "thread-" + std::to_string(i);
                    for (int turn = 0; turn < 2; ++turn) {
                        take(own, owner, i);
                        if (++inside != 1) excluded = false;
                        ++turns;
                        --inside;
                        (void)must(own.release_all(owner));
                    }
                });
            }
        }
        EXPECT_TRUE(excluded);
        EXPECT_EQ(turns, 8);
    }

    const LockKey key_{"Order", "1"};
    const LockKey other_{"Order", "2"};
};

TEST_P(Waiting, AReleaseByTheSameProcessIsSeen) {
    const Lease held = must(locks().try_lock(key_, {.owner = "alice"}));
    auto waiter = wait_for(locks(), key_, "bob");
    (void)must(locks().release(key_, held.lock_id));
    const Lease lease = must(waiter.get());
    EXPECT_EQ(lease.owner, "bob");
    EXPECT_GT(lease.fence, held.fence);
    EXPECT_GT(lease.valid_until, SteadyClock::now());
    EXPECT_TRUE(granted(locks().check(key_, lease.lock_id)));
}

TEST_P(Waiting, AReleaseByAnotherProcessIsSeen) {
    const auto another = manager();
    const Lease held = must(another->try_lock(key_, {.owner = "alice"}));
    auto waiter = wait_for(locks(), key_, "bob");
    (void)must(another->release(key_, held.lock_id));
    EXPECT_EQ(must(waiter.get()).owner, "bob");
}

TEST_P(Waiting, IsRefusedWithTheHoldersWhenThePatienceIsOver) {
    (void)must(locks().try_lock(key_, {.owner = "alice"}));
    EXPECT_TRUE(held(locks().lock_for(key_, 10ms, {.owner = "bob"}), {"alice"}));
    EXPECT_TRUE(held(locks().lock_all_for({other_, key_}, 10ms, {.owner = "bob"}), {"alice"}));
    EXPECT_TRUE(locks().holders(other_).empty());
}

TEST_P(Waiting, AnOwnerDoesNotWaitForItself) {
    const Lease first = must(locks().try_lock(key_, {.owner = "alice"}));
    std::stop_source stop;
    auto waiter = wait_for(locks(), key_, "bob", stop.get_token());
    const Lease again = must(locks().lock_for(key_, 1h, {.owner = "alice"}));
    EXPECT_EQ(again.lock_id, first.lock_id);
    (void)must(locks().release(key_, first.lock_id));
    EXPECT_EQ(must(waiter.get()).owner, "bob");
}

TEST_P(Waiting, AStoppedTryHoldsNothing) {
    const Lease held = must(locks().try_lock(key_, {.owner = "alice"}));
    std::stop_source stop;
    auto waiter = wait_for(locks(), key_, "bob", stop.get_token());
    stop.request_stop();
    try {
        EXPECT_FALSE(waiter.get());
    } catch (const StoreFault& fault) {
        EXPECT_EQ(fault.effect(), StoreFault::Effect::none) << fault.what();
    }
    (void)must(locks().release(key_, held.lock_id));
    EXPECT_TRUE(granted(locks().try_lock(key_, {.owner = "carol"})));
}

TEST_P(Waiting, AProcessThatWaitedAndEndedLeavesNothingInTheStore) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice"}));
    const std::string before = harness().dump();
    {
        const auto another = manager();
        EXPECT_TRUE(held(another->lock_for(key_, 30ms, {.owner = "bob"}), {"alice"}));
        EXPECT_TRUE(held(another->lock_all_for({key_, other_}, 30ms, {.owner = "bob"}), {"alice"}));
    }
    EXPECT_EQ(harness().dump(), before);
    (void)must(locks().release(key_, lease.lock_id));
    EXPECT_TRUE(granted(locks().try_lock(key_, {.owner = "carol"})));
}

TEST_P(Waiting, EverybodyGetsATurn) {
    take_turns([&](LockManager& own, const std::string& owner, int) {
        (void)must(own.lock_for(key_, 1h, {.owner = owner}));
    });
}

TEST_P(Waiting, TriesOfSeveralKeysNeverBlockOneAnotherForEver) {
    take_turns([&](LockManager& own, const std::string& owner, int thread) {
        if (thread == 3) {
            (void)must(own.lock_for(key_, 1h, {.owner = owner}));
        } else {
            (void)must(own.lock_all_for({other_, key_}, 1h, {.owner = owner}));
        }
    });
}

TEST_P(Waiting, AHeldLockIsRenewedAndReleased) {
    const auto another = manager();
    Fence fence = 0;
    std::future<Fence> next;
    {
        const Held held = must(hold(locks(), key_, {.owner = "a", .ttl = 10min, .every = 5ms}));
        fence = held.fence();
        const auto before = held.valid_until();
        EXPECT_TRUE(eventually([&] { return held.valid_until() > before; }));
        EXPECT_FALSE(held.lost());
        next = std::async(std::launch::async, [&] {
            return must(hold(*another, key_, {.owner = "b", .wait = 1h})).fence();
        });
    }
    EXPECT_GT(next.get(), fence);
    EXPECT_TRUE(locks().holders(key_).empty());
}

TEST_P(Waiting, ALeaderHandsOverToTheOtherProcess) {
    const auto another = manager();
    std::atomic<int> at_work = 0;
    std::atomic<bool> excluded = true;
    std::atomic<Fence> latest = 0;
    const auto work = [&](const std::stop_token& stop, Fence fence) {
        if (++at_work != 1 || fence <= latest.exchange(fence)) excluded = false;
        (void)eventually([&] { return stop.stop_requested(); });
        --at_work;
    };
    std::optional<Leader> first;
    first.emplace(locks(), key_, LeaderOptions{.name = "host-1"}, work);
    ASSERT_TRUE(eventually([&] { return first->leads(); }));
    const Leader second{*another, key_, {.name = "host-2"}, work};
    EXPECT_TRUE(second.current().value().owner.starts_with("host-1/"));
    EXPECT_FALSE(second.leads());
    first.reset();
    ASSERT_TRUE(eventually([&] { return second.leads(); }));
    EXPECT_TRUE(second.current().value().owner.starts_with("host-2/"));
    EXPECT_TRUE(excluded);
}

TEST_P(Waiting, TheLossOfAHeldLockIsTold) {
    const Held held =
        must(hold_all(locks(), {key_, other_}, {.owner = "a", .ttl = 10min, .every = 5ms}));
    const auto another = manager();
    (void)must(another->break_lock(other_, held.leases().back().fence, "admin", "urgent"));
    ASSERT_TRUE(eventually([&] { return held.stop_token().stop_requested(); }));
    const auto loss = held.loss();
    ASSERT_TRUE(loss && std::holds_alternative<Refusal>(*loss));
    EXPECT_EQ(std::get<Refusal>(*loss).by, "admin");
}

LEASEHOLD_ON_EVERY_STORE(Waiting);

}  // namespace
}  // namespace leasehold::conformance
