#include "conformance/conformance.hpp"

// LockManager::release_after: a lease is released later, unless its holder shows a sign of life.
namespace leasehold::conformance {
namespace {

class DelayedRelease : public ConformanceTest {
protected:
    Lease lock(const LockKey& key) {
        return must(locks().try_lock(key, {.owner = "alice", .ttl = 10min}));
    }
    // Releases come in the order in which they are due: after this one, nothing earlier comes.
    [[nodiscard]] bool everything_due_is_released() {
        const LockKey last{"Order", "last"};
        locks().release_after(must(locks().try_lock(last, {.owner = "last"})), 0s);
        return eventually([&] { return locks().holders(last).empty(); });
    }

    const LockKey key_{"Order", "1"};
};

TEST_P(DelayedRelease, EndsTheLeaseAsReleased) {
    const Lease lease = lock(key_);
    locks().release_after(lease, 10ms);
    EXPECT_TRUE(eventually([&] { return locks().holders(key_).empty(); }));
    EXPECT_TRUE(gone(locks().check(key_, lease.lock_id), Gone::released));
    EXPECT_TRUE(granted(locks().try_lock(key_, {.owner = "bob"})));
}

TEST_P(DelayedRelease, SparesALeaseThatWasProlongedThroughAnotherProcess) {
    const auto others = manager();
    const LockKey extended{"Order", "2"};
    const LockKey tried{"Order", "3"};
    const Lease leases[]{lock(key_), lock(extended), lock(tried)};
    (void)must(others->renew(key_, leases[0].lock_id, 20min));
    (void)must(others->extend(extended, leases[1].lock_id, 10min));
    (void)must(others->try_lock(tried, {.owner = "alice", .ttl = 20min}));
    for (const Lease& lease : leases) locks().release_after(lease, 0s);
    EXPECT_TRUE(everything_due_is_released());
    for (const Lease& lease : leases) {
        EXPECT_TRUE(granted(locks().check(lease.key, lease.lock_id)));
    }
}

TEST_P(DelayedRelease, SparesTheNextHolder) {
    const Lease lease = lock(key_);
    const auto others = manager();
    (void)must(others->release(key_, lease.lock_id));
    const Lease next = must(others->try_lock(key_, {.owner = "bob"}));
    locks().release_after(lease, 0s);
    EXPECT_TRUE(everything_due_is_released());
    EXPECT_TRUE(granted(locks().check(key_, next.lock_id)));
}

TEST_P(DelayedRelease, EndsASharedLeaseAndNoOther) {
    const auto share = [&](const char* owner) {
        return must(locks().try_lock(key_, {.owner = owner, .mode = Mode::shared}));
    };
    const Lease lease = share("alice");
    (void)share("bob");
    locks().release_after(lease, 0s);
    EXPECT_TRUE(eventually(
        [&] { return owners_of(locks().holders(key_).items) == std::vector<std::string>{"bob"}; }));
}

LEASEHOLD_ON_EVERY_STORE(DelayedRelease);

}  // namespace
}  // namespace leasehold::conformance
