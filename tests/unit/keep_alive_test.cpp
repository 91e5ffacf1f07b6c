#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <leasehold/keep_alive.hpp>
#include <leasehold/stores/memory.hpp>
#include <mutex>
#include <thread>
#include <vector>

#include "unit/faulty_store.hpp"
#include "unit/gated_store.hpp"
#include "unit/manual_clock.hpp"
#include "unit/waiting.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

const LockKey nightly{"Job", "nightly"};

// Hears of losses.
class Ear {
public:
    [[nodiscard]] std::function<void(const KeepAlive::Loss&)> on_lost() {
        return [this](const KeepAlive::Loss& loss) {
            const std::lock_guard lock{mutex_};
            told_at_ = SteadyClock::now();
            thread_ = std::this_thread::get_id();
            losses_.push_back(loss);
        };
    }

    [[nodiscard]] std::size_t count() const {
        const std::lock_guard lock{mutex_};
        return losses_.size();
    }

    [[nodiscard]] bool wait_for_loss() const {
        return eventually([this] { return count() > 0; });
    }

    [[nodiscard]] KeepAlive::Loss loss() const {
        const std::lock_guard lock{mutex_};
        return losses_.at(0);
    }

    [[nodiscard]] SteadyClock::time_point told_at() const {
        const std::lock_guard lock{mutex_};
        return told_at_;
    }

    [[nodiscard]] std::thread::id thread() const {
        const std::lock_guard lock{mutex_};
        return thread_;
    }

private:
    mutable std::mutex mutex_;
    std::vector<KeepAlive::Loss> losses_;  // guarded by mutex_
    SteadyClock::time_point told_at_;      // guarded by mutex_
    std::thread::id thread_;               // guarded by mutex_
};

// A lock manager on a memory store behind faults and a gate, with a lease to keep.
class KeepAliveTest : public ::testing::Test {
protected:
    explicit KeepAliveTest(Limits limits = {}) : locks{make_store(), limits} {}

    // `ttl` is also what KeepAlive will renew for.
    void take(Duration wanted_ttl) {
        ttl = wanted_ttl;
        asked_at = SteadyClock::now();
        lease = locks.try_lock(nightly, {.owner = "alice", .ttl = ttl}).value();
    }

    [[nodiscard]] KeepAlive::Options options() { return {.ttl = ttl, .on_lost = ear.on_lost()}; }

    // For leases that outlive any stall of the machine.
    [[nodiscard]] KeepAlive::Options often() {
        auto wanted = options();
        wanted.every = 10ms;
        return wanted;
    }

    // Renewed `times` after now.
    [[nodiscard]] static bool renewed(const KeepAlive& keep_alive, int times) {
        for (; times > 0; --times) {
            const auto before = keep_alive.valid_until();
            if (!eventually([&] { return keep_alive.valid_until() > before; })) return false;
        }
        return true;
    }

    ManualClock manual;  // added to the steady clock
    FaultyStore* faults = nullptr;
    GatedStore* gate = nullptr;
    LockManager locks;
    Ear ear;
    Lease lease{.key = nightly};
    SteadyClock::time_point asked_at;
    Duration ttl{};

private:
    std::unique_ptr<Store> make_store() {
        auto faulty = std::make_unique<FaultyStore>(memory::open({}, [this] {
            const Duration steady = SteadyClock::now().time_since_epoch();
            return manual.now() + steady;
        }));
        faults = faulty.get();
        auto gated = std::make_unique<GatedStore>(std::move(faulty));
        gate = gated.get();
        return gated;
    }
};

TEST_F(KeepAliveTest, RenewsALeaseBeyondItsTime) {
    take(10min);
    const KeepAlive keep_alive{locks, lease, often()};
    for (int i = 0; i < 4; ++i) {
        manual.advance(6min);
        // The first may have been asked for before.
        ASSERT_TRUE(renewed(keep_alive, 2));
    }
    EXPECT_FALSE(keep_alive.lost());
    EXPECT_FALSE(keep_alive.stop_token().stop_requested());
    const auto kept = locks.check(nightly, lease.lock_id);
    ASSERT_TRUE(kept);
    EXPECT_GT(kept->store_now, lease.expires_at + ttl);
    EXPECT_EQ(ear.count(), 0U);
}

TEST_F(KeepAliveTest, TheFirstRenewalFollowsAtOnce) {
    take(24h);
    std::atomic<bool> renewed = false;
    auto wanted = options();
    wanted.on_renewed = [&](SteadyClock::time_point) { renewed = true; };
    const KeepAlive keep_alive{locks, lease, wanted};
    EXPECT_TRUE(eventually([&] { return renewed.load(); }));
}

TEST_F(KeepAliveTest, TellsItsHolderOfEveryRenewal) {
    take(6s);
    std::atomic<int> renewals = 0;
    std::atomic<bool> grows = true;
    auto latest = SteadyClock::time_point::min();
    auto wanted = options();
    wanted.on_renewed = [&](SteadyClock::time_point valid_until) {
        grows = grows && valid_until > latest;
        latest = valid_until;
        ++renewals;
    };
    const KeepAlive keep_alive{locks, lease, wanted};
    // At once, and in time for what is left.
    EXPECT_TRUE(eventually([&] { return renewals >= 2; }));
    EXPECT_TRUE(grows);
}

TEST_F(KeepAliveTest, TellsItsHolderOnceThatTheLeaseWasReleased) {
    take(1h);
    const KeepAlive keep_alive{locks, lease, often()};
    ASSERT_TRUE(locks.release(nightly, lease.lock_id));
    ASSERT_TRUE(ear.wait_for_loss());
    const auto loss = ear.loss();
    ASSERT_TRUE(std::holds_alternative<Refusal>(loss));
    EXPECT_EQ(std::get<Refusal>(loss).kind, Refusal::Kind::gone);
    EXPECT_EQ(std::get<Refusal>(loss).reason, Gone::released);
    EXPECT_TRUE(keep_alive.lost());
    EXPECT_TRUE(keep_alive.stop_token().stop_requested());
    EXPECT_NE(ear.thread(), std::this_thread::get_id());
    EXPECT_EQ(ear.count(), 1U);
}

TEST_F(KeepAliveTest, TellsItsHolderWhoBrokeTheLeaseAndWhy) {
    take(1h);
    const KeepAlive keep_alive{locks, lease, often()};
    ASSERT_TRUE(locks.break_lock(nightly, lease.fence, "root", "on holiday"));
    ASSERT_TRUE(ear.wait_for_loss());
    const auto loss = ear.loss();
    ASSERT_TRUE(std::holds_alternative<Refusal>(loss));
    EXPECT_EQ(std::get<Refusal>(loss).reason, Gone::broken);
    EXPECT_EQ(std::get<Refusal>(loss).by, "root");
    EXPECT_EQ(std::get<Refusal>(loss).why, "on holiday");
}

TEST_F(KeepAliveTest, TellsItsHolderWhoTookTheKey) {
    take(30min);
    gate->close();
    const KeepAlive keep_alive{locks, lease, options()};
    ASSERT_TRUE(gate->wait_until_held());
    manual.advance(1h);  // the store's clock is ahead of ours
    std::array<Request, 1> take_over{
        TryLock{.key = nightly, .lock_id = LockId::random(), .owner = "bob", .ttl = 1min}};
    std::array<Outcome, 1> outcome;
    faults->inner().apply(take_over, outcome);
    ASSERT_TRUE(std::holds_alternative<Lease>(outcome[0]));
    gate->open();
    ASSERT_TRUE(ear.wait_for_loss());
    const auto loss = ear.loss();
    ASSERT_TRUE(std::holds_alternative<Refusal>(loss));
    EXPECT_EQ(std::get<Refusal>(loss).reason, Gone::taken);
    EXPECT_EQ(std::get<Refusal>(loss).by, "bob");
}

TEST_F(KeepAliveTest, ALostLeaseIsNotValidAnyMore) {
    take(24h);
    const KeepAlive keep_alive{locks, lease, often()};
    ASSERT_TRUE(locks.release(nightly, lease.lock_id));
    ASSERT_TRUE(ear.wait_for_loss());
    EXPECT_LE(keep_alive.valid_until(), SteadyClock::now());
}

TEST_F(KeepAliveTest, TellsItsHolderInTimeThoughTheStoreDoesNotAnswer) {
    take(20s);
    gate->close();
    auto early = often();
    early.margin = 19s;
    const KeepAlive keep_alive{locks, lease, early};
    const auto valid_until = keep_alive.valid_until();
    EXPECT_EQ(valid_until, lease.valid_until - 19s);
    ASSERT_TRUE(gate->wait_until_held());

    ASSERT_TRUE(ear.wait_for_loss());
    EXPECT_TRUE(keep_alive.lost());
    EXPECT_GE(ear.told_at(), valid_until);
    EXPECT_LT(ear.told_at(), lease.valid_until);
    EXPECT_EQ(gate->batch_sizes().size(), 2U);  // the try, and the renewal that is still stuck
    EXPECT_TRUE(std::holds_alternative<StoreFault>(ear.loss()));
    gate->open();
}

TEST_F(KeepAliveTest, TheStopTokenStopsTheWork) {
    take(1h);
    const KeepAlive keep_alive{locks, lease, {.ttl = ttl, .every = 10ms}};
    std::atomic<bool> stopped{false};
    const std::stop_callback work{keep_alive.stop_token(), [&] { stopped = true; }};
    EXPECT_FALSE(stopped);
    ASSERT_TRUE(locks.release(nightly, lease.lock_id));
    EXPECT_TRUE(eventually([&] { return stopped.load(); }));
}

TEST_F(KeepAliveTest, SurvivesFaultsThatPass) {
    take(1h);
    for (const Fails how :
         {Fails::before_effect, Fails::before_effect_unknown, Fails::after_effect}) {
        faults->fail(0, how, 3);
        const KeepAlive keep_alive{locks, lease, often()};
        ASSERT_TRUE(eventually([&] { return faults->hits() == 3; }));
        EXPECT_TRUE(renewed(keep_alive, 2));
        EXPECT_FALSE(keep_alive.lost());
    }
    EXPECT_TRUE(locks.check(nightly, lease.lock_id));
    EXPECT_EQ(ear.count(), 0U);
}

TEST_F(KeepAliveTest, TellsItsHolderOfTheFaultThatDoesNotPass) {
    take(20s);
    faults->fail(0, Fails::before_effect, 1'000'000);
    auto early = often();
    early.margin = 19s;
    const KeepAlive keep_alive{locks, lease, early};
    const auto valid_until = keep_alive.valid_until();
    ASSERT_TRUE(ear.wait_for_loss());
    EXPECT_GE(ear.told_at(), valid_until);
    const auto loss = ear.loss();
    ASSERT_TRUE(std::holds_alternative<StoreFault>(loss));
    EXPECT_STREQ(std::get<StoreFault>(loss).what(), "the connection was lost");
    EXPECT_GT(faults->hits(), 1U);
}

TEST_F(KeepAliveTest, ASlowAnswerShortensTheHoldersTime) {
    take(1h);
    gate->close();
    auto wanted = options();
    wanted.margin = 1s;
    const KeepAlive keep_alive{locks, lease, wanted};
    ASSERT_TRUE(gate->wait_until_held());
    const auto asked_before = SteadyClock::now();
    const auto first = keep_alive.valid_until();
    ASSERT_TRUE(eventually([&] { return SteadyClock::now() > asked_before + 200ms; }));
    gate->let_pass();
    ASSERT_TRUE(eventually([&] { return keep_alive.valid_until() != first; }));
    EXPECT_LE(keep_alive.valid_until(), asked_before + ttl - 1s);
    gate->open();
}

TEST_F(KeepAliveTest, TheFirstAnswersSlownessCountsToo) {
    ttl = 1h;
    gate->close();
    auto grant = std::async(std::launch::async, [&] {
        return locks.try_lock(nightly, {.owner = "alice", .ttl = ttl});
    });
    ASSERT_TRUE(gate->wait_until_held());
    const auto asked_before = SteadyClock::now();
    ASSERT_TRUE(eventually([&] { return SteadyClock::now() > asked_before + 200ms; }));
    gate->let_pass();
    lease = grant.get().value();
    EXPECT_LE(lease.valid_until, asked_before + ttl);
    const KeepAlive keep_alive{locks, lease, options()};
    EXPECT_EQ(keep_alive.valid_until(), lease.valid_until - ttl / 10);
    gate->open();
}

TEST_F(KeepAliveTest, ALeaseThatIsOverAlreadyIsLostAtOnce) {
    take(5s);
    gate->close();
    lease.valid_until -= 1h;
    const KeepAlive keep_alive{locks, lease, options()};
    EXPECT_TRUE(ear.wait_for_loss());
    gate->open();
}

TEST_F(KeepAliveTest, ALeaseThatNoManagerAnsweredWithCountsAsLost) {
    take(1h);
    gate->close();
    const Lease made{.key = nightly, .lock_id = lease.lock_id, .expires_at = never};
    const KeepAlive keep_alive{locks, made, options()};
    EXPECT_TRUE(ear.wait_for_loss());
    gate->open();
}

TEST_F(KeepAliveTest, WhatWasSaidToBeLostIsNeverRenewed) {
    take(1h);
    for (int i = 0; i < 200; ++i) {
        Ear own;
        gate->close();
        Lease over_soon = lease;
        over_soon.valid_until = SteadyClock::now() + 1ms + ttl / 10;
        const KeepAlive keep_alive{locks, over_soon, {.ttl = ttl, .on_lost = own.on_lost()}};
        const auto first = keep_alive.valid_until();
        while (SteadyClock::now() < first - 20us) {
        }
        // The renewal is confirmed at about the time when it is too late.
        gate->open();
        bool lost = false;
        while (!lost && keep_alive.valid_until() == first) lost = keep_alive.lost();
        ASSERT_TRUE(!lost || own.wait_for_loss());
        ASSERT_EQ(keep_alive.lost(), lost || own.count() > 0);
    }
}

TEST_F(KeepAliveTest, MayBeDestroyedWhileARenewalIsUnderWay) {
    take(24h);
    gate->close();
    {
        const KeepAlive keep_alive{locks, lease, options()};
        ASSERT_TRUE(gate->wait_until_held());
    }
    gate->open();
    EXPECT_TRUE(locks.check(nightly, lease.lock_id));
    EXPECT_EQ(ear.count(), 0U);
}

TEST_F(KeepAliveTest, BeingDestroyedIsNoLossAndReleasesNothing) {
    take(24h);
    std::stop_token token;
    {
        const KeepAlive keep_alive{locks, lease, options()};
        token = keep_alive.stop_token();
        ASSERT_TRUE(
            eventually([&] { return keep_alive.valid_until() > lease.valid_until - ttl / 10; }));
    }
    EXPECT_FALSE(token.stop_requested());
    EXPECT_EQ(ear.count(), 0U);
    EXPECT_TRUE(locks.check(nightly, lease.lock_id));
}

TEST_F(KeepAliveTest, RefusesOptionsThatCannotWork) {
    take(1s);
    const auto make = [&](KeepAlive::Options bad) { KeepAlive{locks, lease, std::move(bad)}; };
    EXPECT_THROW(make({.ttl = 0s}), BadRequest);
    EXPECT_THROW(make({.ttl = -1s}), BadRequest);
    EXPECT_THROW(make({.ttl = 1s, .every = 0s}), BadRequest);
    EXPECT_THROW(make({.ttl = 1s, .every = -1s}), BadRequest);
    EXPECT_THROW(make({.ttl = 1s, .margin = -1ms}), BadRequest);
    EXPECT_THROW(make({.ttl = 1s, .every = 1s}), BadRequest);
    EXPECT_THROW(make({.ttl = 1s, .every = 500ms, .margin = 500ms}), BadRequest);
    EXPECT_THROW(make({.ttl = 1s, .every = Duration::max()}), BadRequest);
    EXPECT_NO_THROW(make({.ttl = 1s, .every = 500ms, .margin = 499ms}));
}

TEST_F(KeepAliveTest, RefusesATtlTheManagerWouldRefuse) {
    take(1s);
    const auto make = [&](KeepAlive::Options bad) { KeepAlive{locks, lease, std::move(bad)}; };
    EXPECT_THROW(make({.ttl = locks.limits().min_ttl / 2}), BadRequest);
    EXPECT_THROW(make({.ttl = locks.limits().max_ttl * 2}), BadRequest);
    EXPECT_THROW(make({.ttl = until_released}), BadRequest);
}

Limits endless() {
    Limits limits;
    limits.allow_endless = true;
    return limits;
}

class EndlessKeepAliveTest : public KeepAliveTest {
protected:
    EndlessKeepAliveTest() : KeepAliveTest{endless()} {}
};

TEST_F(EndlessKeepAliveTest, KeepsALeaseWithoutAnEnd) {
    take(until_released);
    const KeepAlive keep_alive{locks, lease, {.ttl = 1s, .every = 10ms}};
    EXPECT_EQ(keep_alive.valid_until(), SteadyClock::time_point::max());
    ASSERT_TRUE(eventually([&] { return gate->batch_sizes().size() > 3; }));
    EXPECT_FALSE(keep_alive.lost());
}

TEST_F(EndlessKeepAliveTest, WaitsForASlowAnswerInsteadOfAskingAgain) {
    take(until_released);
    gate->close();
    const KeepAlive keep_alive{locks, lease, {.ttl = 1s, .every = 10ms}};
    ASSERT_TRUE(gate->wait_until_held());
    const auto held_at = SteadyClock::now();
    ASSERT_TRUE(eventually([&] { return SteadyClock::now() > held_at + 100ms; }));
    EXPECT_EQ(gate->batch_sizes().size(), 2U);
    gate->open();
}

Limits held_for_a_while() {
    Limits limits;
    limits.max_hold = 20s;
    return limits;
}

class BoundedKeepAliveTest : public KeepAliveTest {
protected:
    BoundedKeepAliveTest() : KeepAliveTest{held_for_a_while()} {}
};

TEST_F(BoundedKeepAliveTest, TellsItsHolderBeforeTheLongestHoldEnds) {
    take(19s + 500ms);
    auto early = often();
    early.margin = 19s;
    const KeepAlive keep_alive{locks, lease, early};
    ASSERT_TRUE(ear.wait_for_loss());
    EXPECT_LT(ear.told_at(), asked_at + 20s);
}

}  // namespace
}  // namespace leasehold::testing
