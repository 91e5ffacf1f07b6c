#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <leasehold/lock_manager.hpp>
#include <leasehold/request.hpp>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "core/fresh_lock_id.hpp"
#include "unit/faulty_store.hpp"
#include "unit/gated_store.hpp"
#include "unit/manual_clock.hpp"
#include "unit/waiting.hpp"

// Waiting for a lock: LockManager::lock_for, lock_all_for and submit_for.
namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

const LockKey door{"Door", "1"};
const LockKey window{"Window", "1"};

// A lock manager on a memory store whose time stands still, behind faults and a gate.
class WaitingTest : public ::testing::Test {
protected:
    void wait_for_door(const std::string& owner, Mode mode = Mode::exclusive) {
        wait_with(TryLock{
            .key = door, .lock_id = FreshLockId::draw(), .owner = owner, .mode = mode, .ttl = 1h});
    }
    void wait_for_both(const std::string& owner) {
        wait_with(TryLockAll{.keys = {door, window},
                             .lock_ids = {FreshLockId::draw(), FreshLockId::draw()},
                             .owner = owner,
                             .ttl = 1h});
    }
    void wait_with(Request wanted, Duration how_long = 1h, std::stop_token stop = {}) {
        locks->submit_for(
            std::move(wanted), how_long,
            [this](Outcome outcome) {
                const std::lock_guard lock{mutex};
                if (const auto* lease = std::get_if<Lease>(&outcome)) {
                    granted.push_back(lease->owner);
                    leases.push_back(*lease);
                } else if (const auto* several = std::get_if<std::vector<Lease>>(&outcome)) {
                    granted.push_back(several->front().owner);
                    leases.insert(leases.end(), several->begin(), several->end());
                } else {
                    others.push_back(outcome);
                }
            },
            std::move(stop));
    }
    [[nodiscard]] std::vector<std::string> granted_so_far() const {
        const std::lock_guard lock{mutex};
        return granted;
    }
    [[nodiscard]] bool comes_to(const std::vector<std::string>& owners) const {
        return eventually([&] { return granted_so_far().size() >= owners.size(); }) &&
               granted_so_far() == owners;
    }
    [[nodiscard]] std::size_t answers_without_a_grant() const {
        const std::lock_guard lock{mutex};
        return others.size();
    }
    // The store answers requests in order.
    void wait_until_all_are_answered() const {
        std::promise<void> answered;
        locks->submit(Holders{door}, [&](const Outcome&) { answered.set_value(); });
        ASSERT_EQ(answered.get_future().wait_for(60s), std::future_status::ready);
    }
    // Ends all leases of the owner.
    void release(const std::string& owner) { ASSERT_TRUE(locks->release_all(owner)); }
    [[nodiscard]] std::size_t asked() const { return gate->batch_sizes().size(); }

    ManualClock clock;
    FaultyStore* faults = new FaultyStore{memory_store_on(clock)};
    GatedStore* gate = new GatedStore{std::unique_ptr<Store>{faults}};
    mutable std::mutex mutex;
    std::vector<std::string> granted;  // guarded by mutex; the owners, in the order of the grants
    std::vector<Lease> leases;         // guarded by mutex
    std::vector<Outcome> others;       // guarded by mutex
    std::unique_ptr<LockManager> locks =
        std::make_unique<LockManager>(std::unique_ptr<Store>{gate});
};

TEST_F(WaitingTest, AFreeLockIsGrantedAtOnce) {
    const auto lease = locks->lock_for(door, 1h, {.owner = "alice"});
    ASSERT_TRUE(lease);
    EXPECT_EQ(lease->owner, "alice");
    EXPECT_GT(lease->valid_until, SteadyClock::now());
    EXPECT_EQ(asked(), 1U);
}

TEST_F(WaitingTest, AReleaseWakesTheWaiterAtOnce) {
    const Lease held = locks->try_lock(door, {.owner = "alice"}).value();
    auto waiter =
        std::async(std::launch::async, [&] { return locks->lock_for(door, 1h, {.owner = "bob"}); });
    ASSERT_TRUE(eventually([&] { return asked() >= 2; }));
    ASSERT_TRUE(locks->release(door, held.lock_id));
    EXPECT_EQ(waiter.get().value().owner, "bob");
}

TEST_F(WaitingTest, AWakingOfWaitersIsHarmless) {
    locks->wake_waiters(door);
    EXPECT_EQ(asked(), 0U);
    const Lease held = locks->try_lock(door, {.owner = "alice"}).value();
    wait_for_door("bob");
    locks->wake_waiters(door);
    locks->wake_waiters(window);
    EXPECT_TRUE(granted_so_far().empty());
    ASSERT_TRUE(locks->release(door, held.lock_id));
    EXPECT_TRUE(comes_to({"bob"}));
}

TEST_F(WaitingTest, WithoutPatienceItIsAPlainTry) {
    ASSERT_TRUE(locks->try_lock(door, {.owner = "alice"}));
    const auto refused = locks->lock_for(door, 0s, {.owner = "bob"});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().holders.at(0).owner, "alice");
    EXPECT_EQ(asked(), 2U);
}

TEST_F(WaitingTest, IsRefusedWithTheHoldersWhenThePatienceIsOver) {
    ASSERT_TRUE(locks->try_lock(door, {.owner = "alice"}));
    const auto refused = locks->lock_for(door, 5ms, {.owner = "bob"});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, Refusal::Kind::held);
    EXPECT_EQ(refused.error().holders.at(0).owner, "alice");
}

TEST_F(WaitingTest, EveryWaiterIsRefusedWithTheHoldersWhenItsPatienceIsOver) {
    ASSERT_TRUE(locks->try_lock(door, {.owner = "alice"}));
    wait_for_door("bob");
    const auto refused = locks->lock_for(door, 5ms, {.owner = "carol"});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().holders.at(0).owner, "alice");
}

TEST_F(WaitingTest, FirstComeFirstServed) {
    ASSERT_TRUE(locks->try_lock(door, {.owner = "alice"}));
    const std::vector<std::string> owners{"bob", "carol", "dave", "erin"};
    for (const std::string& owner : owners) wait_for_door(owner);
    release("alice");
    for (std::size_t i = 0; i < owners.size(); ++i) {
        ASSERT_TRUE(comes_to({owners.begin(), owners.begin() + static_cast<int>(i) + 1}));
        release(owners[i]);
    }
}

TEST_F(WaitingTest, OnlyTheFirstOfALineAsksTheStore) {
    ASSERT_TRUE(locks->try_lock(door, {.owner = "alice"}));
    wait_for_door("bob");
    ASSERT_TRUE(eventually([&] { return asked() >= 2; }));
    for (int i = 0; i < 100; ++i) wait_for_door("waiter-" + std::to_string(i));
    for (const auto& batch : gate->batches()) {
        for (const Request& request : batch) {
            const auto* wanted = std::get_if<TryLock>(&request);
            ASSERT_NE(wanted, nullptr);
            EXPECT_TRUE(wanted->owner == "alice" || wanted->owner == "bob") << wanted->owner;
        }
    }
}

TEST_F(WaitingTest, AlwaysAsksWithTheSameLockId) {
    ASSERT_TRUE(locks->try_lock(door, {.owner = "alice"}));
    wait_for_door("bob");
    ASSERT_TRUE(eventually([&] { return asked() >= 4; }));  // alice once, and bob
    const auto batches = gate->batches();
    const LockId first = std::get<TryLock>(batches.at(1).at(0)).lock_id;
    for (std::size_t i = 2; i < batches.size(); ++i) {
        EXPECT_EQ(std::get<TryLock>(batches[i].at(0)).lock_id, first);
        EXPECT_FALSE(FreshLockId::is_fresh(std::get<TryLock>(batches[i].at(0)).lock_id));
    }
}

TEST_F(WaitingTest, ALeaseThatExpiresIsTakenOver) {
    ASSERT_TRUE(locks->try_lock(door, {.owner = "alice", .ttl = 1min}));
    wait_for_door("bob");
    clock.advance(2min);
    EXPECT_TRUE(comes_to({"bob"}));
}

TEST_F(WaitingTest, SharersAreServedTogether) {
    ASSERT_TRUE(locks->try_lock(door, {.owner = "alice"}));
    wait_for_door("bob", Mode::shared);
    wait_for_door("carol", Mode::shared);
    wait_for_door("dave");
    release("alice");
    ASSERT_TRUE(comes_to({"bob", "carol"}));
    release("bob");
    release("carol");
    EXPECT_TRUE(comes_to({"bob", "carol", "dave"}));
}

TEST_F(WaitingTest, AnOwnerDoesNotWaitForItself) {
    ASSERT_TRUE(locks->try_lock(door, {.owner = "alice", .ttl = 1h}));
    wait_for_door("bob");
    ASSERT_TRUE(eventually([&] { return asked() >= 2; }));
    const auto again = locks->lock_for(door, 1h, {.owner = "alice", .ttl = 1h});
    ASSERT_TRUE(again);
    EXPECT_EQ(again->owner, "alice");
    EXPECT_TRUE(granted_so_far().empty());
}

TEST_F(WaitingTest, AnOwnerThatJoinedBeforeItsLeaseWasSeenDoesNotWaitForItself) {
    ASSERT_TRUE(locks->try_lock(door, {.owner = "alice", .ttl = 1h}));
    gate->close();
    wait_for_door("bob");
    ASSERT_TRUE(gate->wait_until_held());
    wait_for_door("alice");
    gate->open();
    EXPECT_TRUE(comes_to({"alice"}));
}

TEST_F(WaitingTest, SeveralKeysAreGrantedTogether) {
    ASSERT_TRUE(locks->try_lock(door, {.owner = "alice"}));
    ASSERT_TRUE(locks->try_lock(window, {.owner = "bob"}));
    wait_for_both("carol");
    release("alice");
    ASSERT_TRUE(eventually([&] { return asked() >= 4; }));
    EXPECT_TRUE(granted_so_far().empty());
    release("bob");
    EXPECT_TRUE(comes_to({"carol"}));
    EXPECT_EQ(leases.size(), 2U);
}

TEST_F(WaitingTest, NobodyOvertakesATryOfSeveralKeys) {
    ASSERT_TRUE(locks->try_lock(window, {.owner = "alice"}));
    wait_for_both("bob");
    ASSERT_TRUE(eventually([&] { return asked() >= 2; }));
    wait_for_door("carol");  // the door is free, but bob came first
    release("alice");
    ASSERT_TRUE(comes_to({"bob"}));
    release("bob");
    EXPECT_TRUE(comes_to({"bob", "carol"}));
}

TEST_F(WaitingTest, TriesOfSeveralKeysNeverWaitForOneAnotherInACircle) {
    ASSERT_TRUE(locks->try_lock(door, {.owner = "alice"}));
    ASSERT_TRUE(locks->try_lock(window, {.owner = "bob"}));
    std::vector<std::string> owners;
    for (int i = 0; i < 10; ++i) {
        owners.push_back("both-" + std::to_string(i));
        wait_for_both(owners.back());
    }
    release("alice");
    release("bob");
    for (std::size_t i = 0; i < owners.size(); ++i) {
        ASSERT_TRUE(comes_to({owners.begin(), owners.begin() + static_cast<int>(i) + 1}));
        release(owners[i]);
    }
}

TEST_F(WaitingTest, ATryBehindAnotherOfSeveralKeysIsAnsweredWhenItsPatienceIsOver) {
    ASSERT_TRUE(locks->try_lock(window, {.owner = "alice"}));
    wait_for_both("bob");
    wait_until_all_are_answered();  // before that, carol asks for herself, and the door is free
    const auto refused = locks->lock_for(door, 5ms, {.owner = "carol"});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, Refusal::Kind::held);
}

TEST_F(WaitingTest, SeveralKeysAreRefusedWithTheHoldersOfEach) {
    ASSERT_TRUE(locks->try_lock(door, {.owner = "alice"}));
    ASSERT_TRUE(locks->try_lock(window, {.owner = "bob"}));
    const auto refused = locks->lock_all_for({window, door}, 5ms, {.owner = "carol"});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().holders.size(), 2U);
}

TEST_F(WaitingTest, AStopEndsTheWaitWithTheLatestRefusal) {
    ASSERT_TRUE(locks->try_lock(door, {.owner = "alice"}));
    std::stop_source stop;
    auto waiter = std::async(std::launch::async, [&] {
        return locks->lock_for(door, 1h, {.owner = "bob"}, stop.get_token());
    });
    ASSERT_TRUE(eventually([&] { return asked() >= 3; }));  // so bob was refused once
    stop.request_stop();
    const auto refused = waiter.get();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().holders.at(0).owner, "alice");
}

TEST_F(WaitingTest, AStopBeforeTheWaitGrantsNothing) {
    std::stop_source stop;
    stop.request_stop();
    EXPECT_THROW((void)locks->lock_for(door, 1h, {.owner = "bob"}, stop.get_token()), StoreFault);
    EXPECT_TRUE(locks->try_lock(door, {.owner = "alice"}));
}

TEST_F(WaitingTest, AStoppedTryDoesNotWaitForTheStoreAndHoldsNothing) {
    std::stop_source stop;
    gate->close();
    wait_with(TryLock{.key = door, .lock_id = FreshLockId::draw(), .owner = "bob", .ttl = 1h}, 1h,
              stop.get_token());
    ASSERT_TRUE(gate->wait_until_held());
    stop.request_stop();
    ASSERT_EQ(answers_without_a_grant(), 1U);  // at once
    gate->open();
    EXPECT_TRUE(eventually([&] { return locks->try_lock(door, {.owner = "alice"}).has_value(); }));
}

TEST_F(WaitingTest, ALockIdOfTheCallersOwnIsNotReleasedByAStop) {
    std::stop_source stop;
    const LockId own = LockId::random();
    gate->close();
    wait_with(TryLock{.key = door, .lock_id = own, .owner = "bob", .ttl = 1h}, 1h,
              stop.get_token());
    ASSERT_TRUE(gate->wait_until_held());
    stop.request_stop();
    gate->open();
    EXPECT_TRUE(comes_to({"bob"}));
    EXPECT_TRUE(locks->check(door, own));
}

TEST_F(WaitingTest, AStoppedTryLeavesTheLine) {
    std::stop_source stop;
    ASSERT_TRUE(locks->try_lock(door, {.owner = "alice"}));
    wait_with(TryLock{.key = door, .lock_id = FreshLockId::draw(), .owner = "bob", .ttl = 1h}, 1h,
              stop.get_token());
    wait_for_door("carol");
    stop.request_stop();
    release("alice");
    EXPECT_TRUE(comes_to({"carol"}));
}

TEST_F(WaitingTest, FaultsThatPassAreWaitedOut) {
    for (const Fails how :
         {Fails::before_effect, Fails::before_effect_unknown, Fails::after_effect}) {
        faults->fail(0, how, 2);
        const auto lease = locks->lock_for(door, 1h, {.owner = "bob"});
        ASSERT_TRUE(lease);
        // The grant whose answer was lost is this one.
        EXPECT_EQ(locks->holders(door).size(), 1U);
        ASSERT_TRUE(locks->release(door, lease->lock_id));
    }
}

TEST_F(WaitingTest, TheLastFaultIsThrownWhenThePatienceIsOver) {
    faults->fail(0, Fails::before_effect, 1'000'000);
    EXPECT_THROW((void)locks->lock_for(door, 5ms, {.owner = "bob"}), StoreFault);
}

TEST_F(WaitingTest, ALeaseThatDiedUnseenIsReplacedByANewOne) {
    faults->fail(0, Fails::after_effect, 1);
    gate->close();
    auto waiter = std::async(std::launch::async,
                             [&] { return locks->lock_for(door, 1h, {.owner = "", .ttl = 1min}); });
    ASSERT_TRUE(gate->wait_until_held());
    gate->let_pass();
    ASSERT_TRUE(gate->wait_until_held());  // asks again, after the fault
    clock.advance(2min);                   // and the lease that was granted has expired
    gate->open();
    const auto lease = waiter.get();
    ASSERT_TRUE(lease);
    EXPECT_TRUE(locks->check(door, lease->lock_id));
}

TEST_F(WaitingTest, ADeadLockIdOfTheCallersOwnIsRefusedAsGone) {
    const Lease old = locks->try_lock(door, {.owner = "bob"}).value();
    ASSERT_TRUE(locks->release(door, old.lock_id));
    const auto refused = locks->lock_for(door, 1h, {.owner = "bob", .lock_id = old.lock_id});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, Refusal::Kind::gone);
}

TEST_F(WaitingTest, ALaterGrantThanSinceIsRefusedAtOnce) {
    const Lease first = locks->try_lock(door, {.owner = "alice"}).value();
    release("alice");
    ASSERT_TRUE(locks->try_lock(door, {.owner = "bob"}));
    release("bob");
    EXPECT_FALSE(locks->lock_for(door, 1h, {.owner = "alice", .since = first.fence}));
}

TEST_F(WaitingTest, ArgumentsOutOfBoundsAreRefusedBeforeTheStoreIsAsked) {
    EXPECT_THROW((void)locks->lock_for(door, 1h, {.ttl = 1us}), BadRequest);
    EXPECT_THROW((void)locks->lock_all_for({}, 1h), BadRequest);
    EXPECT_THROW(locks->submit_for(Holders{door}, 1h, [](const Outcome&) {}), BadRequest);
    EXPECT_EQ(asked(), 0U);
}

TEST_F(WaitingTest, TriesThatWaitAreAnsweredWhenTheManagerIsDestroyed) {
    ASSERT_TRUE(locks->try_lock(door, {.owner = "alice"}));
    for (int i = 0; i < 5; ++i) wait_for_door("waiter-" + std::to_string(i));
    wait_for_both("both");
    locks.reset();
    EXPECT_EQ(answers_without_a_grant(), 6U);
    EXPECT_TRUE(granted_so_far().empty());
}

// Many threads take turns: exclusion holds, and everybody gets the lock.
TEST_F(WaitingTest, ACrowdTakesTurns) {
    std::atomic<int> inside = 0;
    std::atomic<int> turns = 0;
    std::atomic<bool> excluded = true;
    {
        Callers callers;
        for (int i = 0; i < 8; ++i) {
            callers.start([&, i] {
                for (int turn = 0; turn < 20; ++turn) {
                    LockOptions options{.owner = "thread-" + std::to_string(i)};
                    Lease lease{.key = door};
                    if ((i + turn) % 2 == 0) {
                        lease = locks->lock_for(door, 1h, options).value();
                    } else {
                        lease = locks->lock_all_for({window, door}, 1h, options).value().front();
                    }
                    if (++inside != 1) excluded = false;
                    --inside;
                    ++turns;
                    (void)locks->release_all(options.owner);
                }
            });
        }
    }
    EXPECT_TRUE(excluded);
    EXPECT_EQ(turns, 160);
}

}  // namespace
}  // namespace leasehold::testing
