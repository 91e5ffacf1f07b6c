#include <atomic>
#include <future>
#include <stop_token>
#include <thread>

#include <leasehold/stores/postgres.hpp>

#include "conformance/conformance.hpp"
#include "conformance/postgres_harness.hpp"
#include "core/batcher.hpp"
#include "core/waiting_lines.hpp"

// How a store notices that leases end through other processes.
namespace leasehold::conformance {
namespace {

class Watching : public ConformanceTest {
protected:
    // What the watch returns, in whatever time it takes; nothing after a generous deadline.
    std::vector<LockKey> next(const std::vector<LockKey>& keys) {
        std::stop_source stop;
        auto found =
            std::async(std::launch::async, [&] { return watch_->wait(keys, stop.get_token()); });
        if (found.wait_for(60s) != std::future_status::ready) stop.request_stop();
        return found.get();
    }

    Lease lock(const LockKey& key, Mode mode = Mode::exclusive) {
        return must(locks().try_lock(key, {.owner = "alice", .mode = mode}));
    }

    const LockKey key_{"Order", "1"};
    const LockKey other_{"Order", "2"};

private:
    std::unique_ptr<Store> another_ = harness().open();
    std::unique_ptr<StoreWatch> watch_ = another_->open_watch();
};

using Keys = std::vector<LockKey>;

TEST_P(Watching, AKeyIsReturnedAsSoonAsItIsWatched) {
    EXPECT_EQ(next({key_}), Keys{key_});
    EXPECT_EQ(next({key_, other_}), Keys{other_});
}

TEST_P(Watching, EveryWayToEndALeaseIsNoticed) {
    Lease lease = lock(key_);
    ASSERT_EQ(next({key_}), Keys{key_});
    (void)must(locks().release(key_, lease.lock_id));
    EXPECT_EQ(next({key_}), Keys{key_}) << "release";

    lease = lock(key_);
    (void)must(locks().break_lock(key_, lease.fence, "admin", "urgent"));
    EXPECT_EQ(next({key_}), Keys{key_}) << "break";

    lease = lock(key_);
    (void)must(locks().release_all("alice"));
    EXPECT_EQ(next({key_}), Keys{key_}) << "release all";

    lease = lock(key_, Mode::shared);
    const Lease shared = must(locks().try_lock(key_, {.owner = "bob", .mode = Mode::shared}));
    (void)must(locks().release(key_, lease.lock_id));
    EXPECT_EQ(next({key_}), Keys{key_}) << "one of two shared leases";
    (void)must(locks().release(key_, shared.lock_id));
    EXPECT_EQ(next({key_}), Keys{key_}) << "the last shared lease";
}

TEST_P(Watching, OnlyTheKeysOfEndedLeasesAreReturned) {
    const LockKey third{"Order", "3"};
    const Lease lease = lock(key_);
    const Lease another = lock(other_);
    const Lease not_watched = lock(third);
    ASSERT_EQ(next({key_, other_}), (Keys{key_, other_}));
    (void)must(locks().renew(key_, lease.lock_id, 1h));
    (void)must(locks().release(third, not_watched.lock_id));
    (void)must(locks().release(other_, another.lock_id));
    EXPECT_EQ(next({key_, other_}), Keys{other_});
}

TEST_P(Watching, AKeyThatComesBackIsReturnedAgain) {
    const Lease lease = lock(other_);
    ASSERT_EQ(next({key_, other_}), (Keys{key_, other_}));
    (void)must(locks().release(other_, lease.lock_id));
    EXPECT_EQ(next({other_}), Keys{other_});
    EXPECT_EQ(next({key_, other_}), Keys{key_});
}

TEST_P(Watching, ManyKeysAreWatched) {
    Keys keys;
    for (int i = 100; i < 300; ++i) keys.emplace_back("Order", std::to_string(i));
    const std::vector<Lease> leases = must(locks().try_lock_all(keys, {.owner = "alice"}));
    ASSERT_EQ(next(keys), keys);
    (void)must(locks().release(keys.back(), leases.back().lock_id));
    EXPECT_EQ(next(keys), Keys{keys.back()});
}

TEST_P(Watching, AStopEndsTheWait) {
    const auto store = harness().open();
    const auto watch = store->open_watch();
    const Keys keys{key_};
    ASSERT_EQ(watch->wait(keys, {}), keys);
    std::stop_source stop;
    auto found =
        std::async(std::launch::async, [&] { return watch->wait(keys, stop.get_token()); });
    stop.request_stop();
    EXPECT_EQ(found.get(), Keys{});
}

// A process whose waiting tries ask by themselves once an hour only.
class Process {
public:
    enum class Watches : std::uint8_t { no, yes };

    explicit Process(std::unique_ptr<Store> store, Watches watches = Watches::yes)
        : store_{std::move(store), watches} {}
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;
    ~Process() { lines_.close(); }

    std::future<Outcome> wait_with(Request wanted) {
        return std::async(std::launch::async, [this, wanted = std::move(wanted)] {
            return lines_.wait(wanted, 2h, {});
        });
    }
    void wake(const LockKey& key) { lines_.wake({&key, 1}); }
    [[nodiscard]] std::size_t asked() const { return store_.asked; }

private:
    struct CountedStore final : Store {
        CountedStore(std::unique_ptr<Store> store, Watches watched)
            : inner{std::move(store)}, watches{watched} {}
        void apply(std::span<const Request> requests, std::span<Outcome> outcomes) override {
            inner->apply(requests, outcomes);
            ++asked;
        }
        [[nodiscard]] std::size_t concurrency() const noexcept override { return 1; }
        [[nodiscard]] StoreStatus status() override { return inner->status(); }
        [[nodiscard]] std::unique_ptr<StoreWatch> open_watch() override {
            return watches == Watches::yes ? inner->open_watch() : nullptr;
        }

        std::unique_ptr<Store> inner;
        const Watches watches;
        std::atomic<std::size_t> asked{0};
    };

    CountedStore store_;
    const Limits limits_;
    Batcher batcher_{store_, limits_};
    WaitingLines lines_{batcher_, store_, {.first_pause = 1h, .longest_pause = 1h}};
};

TEST_P(Watching, AWaiterIsWokenByTheReleaseOfAnotherProcess) {
    const Lease lease = lock(key_);
    Process process{harness().open()};
    auto one = process.wait_with(
        TryLock{.key = key_, .lock_id = LockId::random(), .owner = "bob", .ttl = 1h});
    // At first, and when its key is watched.
    ASSERT_TRUE(eventually([&] { return process.asked() >= 2; }));
    (void)must(locks().release(key_, lease.lock_id));
    ASSERT_EQ(one.wait_for(60s), std::future_status::ready);
    EXPECT_EQ(std::get<Lease>(one.get()).owner, "bob");
}

TEST_P(Watching, AWaiterForSeveralKeysIsWokenByTheReleaseOfAnotherProcess) {
    const Lease first = lock(key_);
    const Lease second = lock(other_);
    Process process{harness().open()};
    auto both = process.wait_with(TryLockAll{.keys = {key_, other_},
                                             .lock_ids = {LockId::random(), LockId::random()},
                                             .owner = "bob",
                                             .ttl = 1h});
    ASSERT_TRUE(eventually([&] { return process.asked() >= 2; }));
    (void)must(locks().release(other_, second.lock_id));
    ASSERT_TRUE(eventually([&] { return process.asked() >= 3; }));
    (void)must(locks().release(key_, first.lock_id));
    ASSERT_EQ(both.wait_for(60s), std::future_status::ready);
    EXPECT_EQ(std::get<std::vector<Lease>>(both.get()).size(), 2U);
}

LEASEHOLD_ON(every_watched_store(), Watching);

using WakingWaiters = SqlConformanceTest;

TEST_P(WakingWaiters, AfterAReleaseInATransactionTheNextOneGetsTheLock) {
    const LockKey key{"Order", "1"};
    const Lease lease = must(locks().try_lock(key, {.owner = "alice"}));
    Process process{harness().open(), Process::Watches::no};
    auto next = process.wait_with(
        TryLock{.key = key, .lock_id = LockId::random(), .owner = "bob", .ttl = 1h});
    ASSERT_TRUE(eventually([&] { return process.asked() >= 1; }));
    const auto transaction = harness().begin();
    ASSERT_TRUE(granted(transaction->guard(key, lease.lock_id)));
    ASSERT_TRUE(granted(transaction->release(key, lease.lock_id)));
    transaction->commit();
    process.wake(key);
    ASSERT_EQ(next.wait_for(60s), std::future_status::ready);
    EXPECT_EQ(std::get<Lease>(next.get()).owner, "bob");
}

LEASEHOLD_ON_EVERY_SQL_STORE(WakingWaiters);

using WakingOtherProcesses = SqlConformanceTest;

TEST_P(WakingOtherProcesses, AfterAReleaseInATransactionTheNextOneGetsTheLock) {
    const LockKey key{"Order", "1"};
    const Lease lease = must(locks().try_lock(key, {.owner = "alice"}));
    Process process{harness().open()};
    auto next = process.wait_with(
        TryLock{.key = key, .lock_id = LockId::random(), .owner = "bob", .ttl = 1h});
    // At first, and when its key is watched.
    ASSERT_TRUE(eventually([&] { return process.asked() >= 2; }));
    PostgresConnection connection;
    postgres::wake_waiters(connection.get(), {"Order", "2"});
    connection.run("begin");
    ASSERT_TRUE(granted(postgres::guard(connection.get(), key, lease.lock_id)));
    ASSERT_TRUE(granted(postgres::release(connection.get(), key, lease.lock_id)));
    EXPECT_THROW(postgres::wake_waiters(connection.get(), key), StoreFault);
    connection.run("commit");
    postgres::wake_waiters(connection.get(), key);
    ASSERT_EQ(next.wait_for(60s), std::future_status::ready);
    EXPECT_EQ(std::get<Lease>(next.get()).owner, "bob");
}

LEASEHOLD_ON(only_postgres(), WakingOtherProcesses);

}  // namespace
}  // namespace leasehold::conformance
