#include <gtest/gtest.h>

#include <leasehold/lock_manager.hpp>

#include "unit/manual_clock.hpp"
#include "unit/waiting.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

class DelayedReleasesTest : public ::testing::Test {
protected:
    // Releases come in the order in which they are due: after this one, nothing earlier comes.
    void expect_nothing_else_is_released_after(Duration delay) {
        const auto last = locks.try_lock({"Order", "last"}, {.owner = "last"});
        locks.release_after(*last, delay);
        EXPECT_TRUE(eventually([&] { return is_free("last"); }));
    }
    [[nodiscard]] bool is_free(const char* id) { return locks.holders({"Order", id}).empty(); }

    ManualClock clock;
    LockManager locks{memory_store_on(clock)};
    const LockKey first{"Order", "1"};
};

TEST_F(DelayedReleasesTest, ReleasesTheLeaseLater) {
    const auto lease = locks.try_lock(first, {.owner = "alice"});
    locks.release_after(*lease, 20ms);
    EXPECT_TRUE(eventually([&] { return is_free("1"); }));
    EXPECT_EQ(locks.check(first, lease->lock_id).error().reason, Gone::released);
}

TEST_F(DelayedReleasesTest, GivesTheKeyToTheNextInLine) {
    const auto lease = locks.try_lock(first, {.owner = "alice"});
    locks.release_after(*lease, 20ms);
    EXPECT_TRUE(locks.lock_for(first, 1min, {.owner = "bob"}));
}

TEST_F(DelayedReleasesTest, ASignOfTheHolderCancelsIt) {
    constexpr auto delay = 50ms;
    for (bool in_time = false; !in_time;) {
        const auto checked = locks.try_lock({"Order", "checked"}, {.owner = "d", .ttl = 1min});
        const auto renewed = locks.try_lock({"Order", "renewed"}, {.owner = "a", .ttl = 1min});
        const auto extended = locks.try_lock({"Order", "extended"}, {.owner = "b", .ttl = 1min});
        const auto again = locks.try_lock({"Order", "again"}, {.owner = "c", .ttl = 1min});
        const auto scheduled_at = SteadyClock::now();
        for (const auto& lease : {checked, renewed, extended, again})
            locks.release_after(*lease, delay);
        // The check, the renewal and the try leave the expiry as it is: only the sign cancels the
        // release.
        (void)locks.check(checked->key, checked->lock_id);
        (void)locks.renew(renewed->key, renewed->lock_id, 1s);
        (void)locks.extend(extended->lock_id, 1s);
        (void)locks.try_lock({"Order", "again"}, {.owner = "c", .ttl = 1s});
        in_time = SteadyClock::now() - scheduled_at < delay;
        if (!in_time) continue;
        expect_nothing_else_is_released_after(delay);
        EXPECT_FALSE(is_free("checked"));
        EXPECT_FALSE(is_free("renewed"));
        EXPECT_FALSE(is_free("extended"));
        EXPECT_FALSE(is_free("again"));
    }
}

TEST_F(DelayedReleasesTest, ALeaseThatWasRenewedElsewhereStays) {
    const auto lease = locks.try_lock(first, {.owner = "alice", .ttl = 1min});
    // As another process would have done it: this lock manager does not see the sign.
    EXPECT_TRUE(locks.renew(first, lease->lock_id, 2min));
    locks.release_after(*lease, 0s);
    expect_nothing_else_is_released_after(0s);
    EXPECT_FALSE(is_free("1"));
}

TEST_F(DelayedReleasesTest, TheLastDelayCounts) {
    const auto lease = locks.try_lock(first, {.owner = "alice"});
    locks.release_after(*lease, 1h);
    locks.release_after(*lease, 0s);
    EXPECT_TRUE(eventually([&] { return is_free("1"); }));
}

TEST_F(DelayedReleasesTest, DoNotKeepTheManagerFromEnding) {
    LockManager other{memory_store_on(clock)};
    other.release_after(*other.try_lock(first), 1h);
}

TEST_F(DelayedReleasesTest, AreForLeasesOnly) {
    EXPECT_THROW(locks.release_after(Lease{.key = first}, 1s), BadRequest);
}

TEST(MaxHold, BoundsTheLeaseOfAnOwnerThatTriesAgain) {
    ManualClock clock;
    LockManager locks{memory_store_on(clock), {.max_hold = 2h}};
    const LockKey key{"Order", "1"};
    const LockOptions options{.owner = "alice", .ttl = 10min, .max_hold = 15min};
    const auto lease = locks.try_lock(key, options);
    EXPECT_EQ(lease->remaining(), 10min);
    clock.advance(9min);
    EXPECT_EQ(locks.try_lock(key, options)->remaining(), 6min);
    EXPECT_EQ(locks.renew(key, lease->lock_id, 10min, 15min)->remaining(), 6min);
    EXPECT_EQ(locks.renew(lease->lock_id, 10min, 15min)->remaining(), 6min);
    EXPECT_EQ(locks.renew(key, lease->lock_id, 10min)->remaining(), 10min);
    EXPECT_EQ(locks.try_lock({"Order", "2"}, {.ttl = 3h, .max_hold = 5h})->remaining(), 2h);
    EXPECT_THROW((void)locks.try_lock(key, {.max_hold = 0s}), BadRequest);
}

}  // namespace
}  // namespace leasehold::testing
