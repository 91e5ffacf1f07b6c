#include <gtest/gtest.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <leasehold/asio.hpp>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "unit/faulty_store.hpp"
#include "unit/gated_store.hpp"
#include "unit/manual_clock.hpp"
#include "unit/waiting.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;
using asio::use_awaitable;

class AsioTest : public ::testing::Test {
protected:
    // Runs a coroutine on this thread until it has ended.
    template <class Coroutine>
    void run(Coroutine coroutine) {
        std::exception_ptr failure;
        asio::co_spawn(context, std::move(coroutine),
                       [&](std::exception_ptr thrown) { failure = std::move(thrown); });
        context.run();
        context.restart();
        if (failure) std::rethrow_exception(failure);
    }

    const LockKey order{"Order", "1"};
    const LockKey invoice{"Invoice", "7"};
    ManualClock clock;
    FaultyStore* faults = new FaultyStore{memory_store_on(clock)};
    GatedStore* gate = new GatedStore{std::unique_ptr<Store>{faults}};
    LockManager locks{std::unique_ptr<Store>{gate}};
    asio::io_context context;
};

TEST_F(AsioTest, EveryCallCanBeAwaited) {
    run([&]() -> asio::awaitable<void> {
        // GCC 12 destroys an aggregate that is made inside a co_await expression twice.
        const LockOptions alice{.owner = "alice"};
        const LockOptions bob{.owner = "bob"};
        const auto lease = co_await async_try_lock(locks, order, alice, use_awaitable);
        EXPECT_EQ(lease.value().owner, "alice");
        const LockId id = lease.value().lock_id;
        const auto refused = co_await async_try_lock(locks, order, bob, use_awaitable);
        EXPECT_EQ(refused.error().holders.at(0).owner, "alice");

        EXPECT_TRUE(co_await async_check(locks, order, id, use_awaitable));
        const auto extended = co_await async_extend(locks, order, id, 1min, use_awaitable);
        EXPECT_EQ(extended.value().expires_at, lease.value().expires_at + 1min);
        EXPECT_TRUE(co_await async_renew(locks, order, id, 10min, use_awaitable));
        EXPECT_EQ((co_await async_holders(locks, order, use_awaitable)).size(), 1U);
        List all{};
        EXPECT_EQ((co_await async_list(locks, all, use_awaitable)).size(), 1U);
        EXPECT_TRUE(co_await async_release(locks, order, id, use_awaitable));

        std::vector<LockKey> keys{order, invoice};
        const auto both = co_await async_try_lock_all(locks, keys, alice, use_awaitable);
        EXPECT_EQ(both.value().size(), 2U);
        const auto broken = co_await async_break_lock(locks, invoice, both.value().at(0).fence,
                                                      "root", "test", use_awaitable);
        EXPECT_EQ(broken.value().key, invoice);
        const auto released =
            co_await async_release_all(locks, "alice", OwnerScope::exact, use_awaitable);
        EXPECT_EQ(released.value().size(), 1U);
        History past{};
        EXPECT_EQ((co_await async_history(locks, past, use_awaitable)).size(), 3U);
    });
}

TEST_F(AsioTest, AWaitIsGrantedWhenTheLockIsReleased) {
    const Lease held = locks.try_lock(order, {.owner = "alice"}).value();
    std::optional<Lease> granted;
    asio::co_spawn(
        context,
        [&]() -> asio::awaitable<void> {
            const LockOptions bob{.owner = "bob"};
            auto lease = co_await async_lock_for(locks, order, 1h, bob, use_awaitable);
            granted = lease.value();
        },
        asio::detached);
    context.poll();
    EXPECT_FALSE(granted);
    (void)locks.release(order, held.lock_id);
    context.run();
    EXPECT_EQ(granted.value().owner, "bob");
}

TEST_F(AsioTest, SeveralKeysAreWaitedForTogether) {
    run([&]() -> asio::awaitable<void> {
        std::vector<LockKey> keys{order, invoice};
        const LockOptions alice{.owner = "alice"};
        const auto both = co_await async_lock_all_for(locks, keys, 1h, alice, use_awaitable);
        EXPECT_EQ(both.value().size(), 2U);
    });
}

TEST_F(AsioTest, CancellationEndsTheWaitAndLeavesNothingLocked) {
    const Lease held = locks.try_lock(order, {.owner = "alice"}).value();
    asio::cancellation_signal cancel;
    std::optional<Result<Lease>> answer;
    async_lock_for(locks, order, 1h, {.owner = "bob"},
                   asio::bind_cancellation_slot(
                       cancel.slot(), asio::bind_executor(context, [&](const std::exception_ptr&,
                                                                       Result<Lease> result) {
                           answer = std::move(result);
                       })));
    ASSERT_TRUE(eventually([&] { return gate->batch_sizes().size() >= 2; }));
    cancel.emit(asio::cancellation_type::terminal);
    context.run();
    ASSERT_TRUE(answer);
    EXPECT_FALSE(*answer);
    (void)locks.release(order, held.lock_id);
    EXPECT_TRUE(locks.holders(order).empty());
}

TEST_F(AsioTest, AFaultOfTheStoreIsThrownIntoTheCoroutine) {
    faults->fail(0, Fails::before_effect);
    EXPECT_THROW(run([&]() -> asio::awaitable<void> {
                     (void)co_await async_holders(locks, order, use_awaitable);
                 }),
                 StoreFault);
}

TEST_F(AsioTest, ABadRequestIsThrownIntoTheCoroutine) {
    EXPECT_THROW(run([&]() -> asio::awaitable<void> {
                     const LockOptions endless{.ttl = until_released};
                     (void)co_await async_try_lock(locks, order, endless, use_awaitable);
                 }),
                 BadRequest);
}

TEST_F(AsioTest, TheHandlerRunsOnItsExecutorAndNeverInsideTheCall) {
    std::optional<std::thread::id> ran_on;
    async_try_lock(locks, order, {.owner = "alice"},
                   asio::bind_executor(context, [&](const std::exception_ptr&, Result<Lease>) {
                       ran_on = std::this_thread::get_id();
                   }));
    ASSERT_TRUE(eventually([&] { return !locks.holders(order).empty(); }));
    EXPECT_FALSE(ran_on);
    context.run();
    EXPECT_EQ(ran_on, std::this_thread::get_id());
}

TEST_F(AsioTest, AnyCompletionTokenCanBeUsed) {
    asio::thread_pool pool{1};
    auto lease = async_try_lock(locks, order, {.owner = "alice"},
                                asio::bind_executor(pool, asio::use_future));
    EXPECT_EQ(lease.get().value().owner, "alice");
}

// The objects that a handler owns are destroyed with its context, at the latest.
TEST_F(AsioTest, AContextMayEndBeforeItsOperationsAreAnswered) {
    const auto held = locks.try_lock(order, {.owner = "alice"});
    const auto kept = std::make_shared<int>();
    int answers = 0;
    const auto handler = [&answers, kept](auto&&...) { ++answers; };
    {
        asio::io_context ending;
        gate->close();
        async_try_lock(locks, invoice, {.owner = "bob"}, asio::bind_executor(ending, handler));
        async_lock_for(locks, order, 10min, {.owner = "bob"}, asio::bind_executor(ending, handler));
        EXPECT_GT(kept.use_count(), 2);
    }
    EXPECT_EQ(kept.use_count(), 2);  // here and in `handler`
    gate->open();
    EXPECT_TRUE(locks.release(order, held->lock_id));
    EXPECT_TRUE(eventually([&] { return !locks.holders(invoice).empty(); }));
    EXPECT_TRUE(locks.holders(order).empty());
    EXPECT_EQ(answers, 0);
}

TEST_F(AsioTest, ManyAreAnsweredWithoutAThreadEach) {
    constexpr int many = 500;
    int granted = 0;
    for (int i = 0; i < many; ++i) {
        asio::co_spawn(
            context,
            [&, i]() -> asio::awaitable<void> {
                const LockKey key{"Order", std::to_string(i)};
                const LockOptions options{.owner = "alice"};
                if (co_await async_try_lock(locks, key, options, use_awaitable)) ++granted;
            },
            asio::detached);
    }
    context.run();
    EXPECT_EQ(granted, many);
}

}  // namespace
}  // namespace leasehold::testing
