#include <gtest/gtest.h>

#include <leasehold/scoped_lock.hpp>
#include <stdexcept>
#include <type_traits>

#include "unit/faulty_store.hpp"
#include "unit/manual_clock.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

const LockKey guarded_key{"Order", "1"};

class ScopedLockTest : public ::testing::Test {
protected:
    [[nodiscard]] Lease take() { return locks.try_lock(guarded_key, {.owner = "alice"}).value(); }
    [[nodiscard]] bool held() { return !locks.holders(guarded_key).empty(); }

    ManualClock clock;
    FaultyStore* store = new FaultyStore{memory_store_on(clock)};
    LockManager locks{std::unique_ptr<Store>{store}};
};

static_assert(!std::is_copy_constructible_v<ScopedLock>);
static_assert(!std::is_copy_assignable_v<ScopedLock>);
static_assert(std::is_nothrow_move_constructible_v<ScopedLock>);

TEST_F(ScopedLockTest, ReleasesAtTheEndOfTheScope) {
    const Lease lease = take();
    {
        const ScopedLock hold{locks, lease};
        EXPECT_EQ(hold.lease().lock_id, lease.lock_id);
        EXPECT_TRUE(held());
    }
    EXPECT_FALSE(held());
    EXPECT_EQ(locks.check(guarded_key, lease.lock_id).error().reason, Gone::released);
}

TEST_F(ScopedLockTest, ReleasesWhenAnExceptionLeavesTheScope) {
    try {
        const ScopedLock hold{locks, take()};
        throw std::runtime_error{"the work failed"};
    } catch (const std::runtime_error&) {
        EXPECT_FALSE(held());
    }
}

TEST_F(ScopedLockTest, AMovedOneReleasesOnce) {
    {
        ScopedLock outer = [&] {
            ScopedLock inner{locks, take()};
            return ScopedLock{std::move(inner)};
        }();
        EXPECT_TRUE(held());
    }
    EXPECT_FALSE(held());
    EXPECT_EQ(locks.history().size(), 1U);
}

TEST_F(ScopedLockTest, AKeptLeaseOutlivesTheScope) {
    Lease kept{.key = guarded_key};
    {
        ScopedLock hold{locks, take()};
        kept = std::move(hold).keep();
    }
    EXPECT_TRUE(locks.check(guarded_key, kept.lock_id));
}

TEST_F(ScopedLockTest, ALeaseThatHasEndedAlreadyIsLeftAlone) {
    const Lease alice = take();
    {
        const ScopedLock hold{locks, alice};
        clock.advance(1h);
        ASSERT_TRUE(locks.try_lock(guarded_key, {.owner = "bob"}));
    }
    const auto holders = locks.holders(guarded_key);
    ASSERT_EQ(holders.size(), 1U);
    EXPECT_EQ(holders[0].owner, "bob");
}

TEST_F(ScopedLockTest, AFaultOnTheWayOutLeavesTheLeaseToItsExpiry) {
    {
        const ScopedLock hold{locks, take()};
        store->fail(0, Fails::before_effect);
    }
    EXPECT_EQ(store->hits(), 1U);
    EXPECT_TRUE(held());
    clock.advance(1h);
    EXPECT_FALSE(held());
}

}  // namespace
}  // namespace leasehold::testing
