#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <leasehold/lock_manager.hpp>
#include <leasehold/store.hpp>

#include "unit/faulty_store.hpp"
#include "unit/manual_clock.hpp"

// A session in which the Nth call to the store fails, for every N: a client that repeats
// its request with the same lock id always learns the outcome, and no key ever has two holders.
namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

const LockKey order{"Order", "1"};
const LockKey customer{"Customer", "7"};

class FaultSweep : public ::testing::TestWithParam<Fails> {
protected:
    // One run of the session, with its own store.
    struct Run {
        ManualClock clock;
        FaultyStore* store = new FaultyStore{memory_store_on(clock)};
        LockManager locks{std::unique_ptr<Store>{store}};
        Fails how = Fails::before_effect;

        // The leases that exist, whatever the faults.
        std::vector<Holder> really_held() {
            std::array<Request, 1> list{List{}};
            std::array<Outcome, 1> outcome;
            store->inner().apply(list, outcome);
            return std::get<HolderPage>(outcome[0]).items;
        }

        // Asks, and once more after a fault. The fault tells the truth.
        template <class Ask>
        auto settled(Ask ask) {
            const auto before = really_held();
            try {
                return ask();
            } catch (const StoreFault& fault) {
                const bool surely_nothing = fault.effect() == StoreFault::Effect::none;
                EXPECT_EQ(surely_nothing, how == Fails::before_effect);
                if (surely_nothing) {
                    EXPECT_EQ(really_held(), before);
                }
                clock.advance(10ms);
            }
            return ask();
        }
    };

    // Runs the session with a fault at 0, 1, 2, ... until none is hit.
    template <class Session>
    static void sweep(Session session) {
        std::size_t nth = 0;
        for (bool hit = true; hit; ++nth) {
            SCOPED_TRACE("the fault is at call " + std::to_string(nth));
            Run run;
            run.how = GetParam();
            run.store->fail(nth, run.how);
            session(run);
            hit = run.store->hits() > 0;
            run.store->heal();
            prove_recovery(run);
            if (HasFatalFailure()) return;
        }
        EXPECT_GT(nth, 3U);
    }

    static void prove_recovery(Run& run) {
        EXPECT_TRUE(run.really_held().empty());
        for (const LockKey& key : {order, customer}) {
            const auto lease = run.locks.try_lock(key, {.owner = "carol"});
            ASSERT_TRUE(lease) << lease.error().message();
            EXPECT_TRUE(run.locks.check(key, lease->lock_id));
            EXPECT_TRUE(run.locks.release(key, lease->lock_id));
        }
    }
};

TEST_P(FaultSweep, ALeaseIsTakenRenewedCheckedAndReleased) {
    sweep([](Run& run) {
        const LockId alices = LockId::random();
        const auto alice = run.settled([&] {
            return run.locks.try_lock(order, {.owner = "alice", .ttl = 1min, .lock_id = alices});
        });
        ASSERT_TRUE(alice);
        EXPECT_EQ(alice->lock_id, alices);
        ASSERT_EQ(run.really_held().size(), 1U);

        run.clock.advance(30s);
        const auto renewed = run.settled([&] { return run.locks.renew(order, alices, 1min); });
        ASSERT_TRUE(renewed);
        EXPECT_EQ(renewed->fence, alice->fence);
        EXPECT_GE(renewed->remaining(), 1min - 10ms);

        const auto checked = run.settled([&] { return run.locks.check(order, alices); });
        ASSERT_TRUE(checked);
        EXPECT_EQ(checked->expires_at, renewed->expires_at);

        const LockId bobs = LockId::random();
        const auto refused = run.settled(
            [&] { return run.locks.try_lock(order, {.owner = "bob", .lock_id = bobs}); });
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().kind, Refusal::Kind::held);
        ASSERT_EQ(refused.error().holders.size(), 1U);
        EXPECT_EQ(refused.error().holders[0].owner, "alice");

        const auto released = run.settled([&] { return run.locks.release(order, alices); });
        if (!released) {
            EXPECT_EQ(run.how, Fails::after_effect);
            EXPECT_EQ(released.error().reason, Gone::released);
        }
        EXPECT_TRUE(run.really_held().empty());

        // The lock id that was refused has never lived, so it still can.
        const auto bob = run.settled(
            [&] { return run.locks.try_lock(order, {.owner = "bob", .lock_id = bobs}); });
        ASSERT_TRUE(bob);
        EXPECT_GT(bob->fence, alice->fence);
        ASSERT_EQ(run.really_held().size(), 1U);

        // The one that died stays dead.
        const auto again = run.settled(
            [&] { return run.locks.try_lock(order, {.owner = "alice", .lock_id = alices}); });
        ASSERT_FALSE(again);
        EXPECT_EQ(again.error().kind, Refusal::Kind::gone);
        EXPECT_EQ(again.error().reason, Gone::released);

        run.settled([&] { return run.locks.release_all("bob"); }).value();
    });
}

TEST_P(FaultSweep, AnAnonymousLeaseIsNeverGrantedTwice) {
    sweep([](Run& run) {
        const LockId mine = LockId::random();
        const auto take = [&] { return run.locks.try_lock(order, {.lock_id = mine}); };
        const auto lease = run.settled(take);
        ASSERT_TRUE(lease);
        EXPECT_EQ(lease->lock_id, mine);

        const auto other = run.settled([&] { return run.locks.try_lock(order); });
        EXPECT_FALSE(other);
        EXPECT_EQ(run.really_held().size(), 1U);

        const auto same = run.settled(take);
        ASSERT_TRUE(same);
        EXPECT_EQ(same->fence, lease->fence);

        (void)run.settled([&] { return run.locks.release(mine); });
    });
}

TEST_P(FaultSweep, AnExpiredLeaseIsTakenOverByOne) {
    sweep([](Run& run) {
        const LockId alices = LockId::random();
        const LockId bobs = LockId::random();
        const auto alice = run.settled([&] {
            return run.locks.try_lock(order, {.owner = "alice", .ttl = 1s, .lock_id = alices});
        });
        ASSERT_TRUE(alice);
        run.clock.advance(2s);
        const auto bob = run.settled(
            [&] { return run.locks.try_lock(order, {.owner = "bob", .lock_id = bobs}); });
        ASSERT_TRUE(bob);
        EXPECT_GT(bob->fence, alice->fence);

        const auto late = run.settled([&] { return run.locks.renew(order, alices, 1min); });
        ASSERT_FALSE(late);
        EXPECT_EQ(late.error().reason, Gone::taken);
        EXPECT_EQ(late.error().by, "bob");
        ASSERT_EQ(run.really_held().size(), 1U);
        EXPECT_EQ(run.really_held()[0].owner, "bob");

        (void)run.settled([&] { return run.locks.release(order, bobs); });
    });
}

TEST_P(FaultSweep, AllKeysAreTakenOrNone) {
    sweep([](Run& run) {
        const auto both = run.settled(
            [&] { return run.locks.try_lock_all({order, customer}, {.owner = "alice"}); });
        ASSERT_TRUE(both);
        ASSERT_EQ(run.really_held().size(), 2U);

        const auto refused = run.settled(
            [&] { return run.locks.try_lock_all({order, customer}, {.owner = "bob"}); });
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().holders.size(), 2U);

        const auto released = run.settled([&] { return run.locks.release_all("alice"); });
        ASSERT_TRUE(released);
        EXPECT_TRUE(run.really_held().empty());
    });
}

INSTANTIATE_TEST_SUITE_P(Faults, FaultSweep,
                         ::testing::Values(Fails::before_effect, Fails::before_effect_unknown,
                                           Fails::after_effect),
                         [](const auto& fails) {
                             switch (fails.param) {
                                 case Fails::before_effect: return "BeforeTheEffect";
                                 case Fails::before_effect_unknown: return "BeforeTheEffectUnknown";
                                 case Fails::after_effect: break;
                             }
                             return "AfterTheEffect";
                         });

}  // namespace
}  // namespace leasehold::testing
