#include "core/key_watcher.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <leasehold/errors.hpp>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <vector>

#include "core/batcher.hpp"
#include "core/waiting_lines.hpp"
#include "unit/manual_clock.hpp"
#include "unit/waiting.hpp"

// How waiters learn that leases end through other processes.
namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

const LockKey door{"Door", "1"};
const LockKey window{"Window", "1"};

// The endings of leases in a store, for the watches that look at it. Thread-safe.
class Events {
public:
    void end(const LockKey& key) {
        const std::lock_guard lock{mutex_};
        ended_.push_back(key);
        happened_.notify_all();
    }
    // The next call of a watch fails, the one under way included.
    void fail() {
        const std::lock_guard lock{mutex_};
        failing_ = true;
        happened_.notify_all();
    }
    [[nodiscard]] std::vector<LockKey> watched() const {
        const std::lock_guard lock{mutex_};
        return watched_;
    }
    [[nodiscard]] std::size_t opened() const {
        const std::lock_guard lock{mutex_};
        return opened_;
    }

    // The watches that wait at this moment.
    [[nodiscard]] std::size_t watches() const {
        const std::lock_guard lock{mutex_};
        return watches_;
    }

    [[nodiscard]] std::unique_ptr<StoreWatch> open() {
        const std::lock_guard lock{mutex_};
        ++opened_;
        return std::make_unique<Watch>(*this);
    }

private:
    class Watch final : public StoreWatch {
    public:
        explicit Watch(Events& events) : events_{events} {}

        [[nodiscard]] std::vector<LockKey> wait(std::span<const LockKey> keys,
                                                const std::stop_token& stop) override {
            std::unique_lock lock{events_.mutex_};
            events_.watched_ = {keys.begin(), keys.end()};
            EXPECT_TRUE(std::ranges::is_sorted(keys));
            std::erase_if(
                known_, [&](const LockKey& key) { return !std::ranges::binary_search(keys, key); });
            std::vector<LockKey> found;
            std::ranges::copy_if(keys, std::back_inserter(found),
                                 [&](const LockKey& key) { return known_.insert(key).second; });
            if (!found.empty()) return found;
            ++events_.watches_;
            events_.happened_.wait(lock, stop,
                                   [&] { return events_.failing_ || !events_.ended_.empty(); });
            --events_.watches_;
            if (std::exchange(events_.failing_, false)) {
                throw StoreFault{StoreFault::Effect::none, StoreFault::Cause::unavailable, "cut"};
            }
            return std::exchange(events_.ended_, {});
        }

    private:
        Events& events_;
        std::set<LockKey> known_;
    };

    mutable std::mutex mutex_;
    std::condition_variable_any happened_;
    // All guarded by mutex_:
    std::vector<LockKey> ended_;
    std::vector<LockKey> watched_;  // by the latest call
    std::size_t opened_ = 0;
    std::size_t watches_ = 0;
    bool failing_ = false;
};

class KeyWatcherTest : public ::testing::Test {
protected:
    [[nodiscard]] bool is_told(const LockKey& key, std::ptrdiff_t times) const {
        return eventually([&] {
            const std::lock_guard lock{mutex};
            return std::ranges::count(told, key) == times;
        });
    }

    Events events;
    mutable std::mutex mutex;
    std::vector<LockKey> told;  // guarded by mutex
    KeyWatcher watcher{[this] { return events.open(); },
                       [this](std::span<const LockKey> keys) {
                           const std::lock_guard lock{mutex};
                           told.insert(told.end(), keys.begin(), keys.end());
                       }};
};

TEST_F(KeyWatcherTest, TellsAKeyOnceItIsWatchedAndWhenALeaseMayHaveEnded) {
    watcher.add(door);
    ASSERT_TRUE(is_told(door, 1));
    watcher.add(window);
    ASSERT_TRUE(is_told(window, 1));
    events.end(door);
    EXPECT_TRUE(is_told(door, 2));
    EXPECT_TRUE(is_told(window, 1));
    EXPECT_EQ(events.opened(), 1U);
}

TEST_F(KeyWatcherTest, NoLongerWatchesRemovedKeys) {
    watcher.add(door);
    watcher.add(window);
    ASSERT_TRUE(is_told(window, 1));
    watcher.remove(door);
    events.end(window);
    EXPECT_TRUE(eventually([&] { return events.watched() == std::vector{window}; }));
}

TEST_F(KeyWatcherTest, OpensAnotherWatchAfterAFault) {
    watcher.add(door);
    ASSERT_TRUE(is_told(door, 1));
    events.fail();
    ASSERT_TRUE(is_told(door, 2));
    EXPECT_EQ(events.opened(), 2U);
    events.end(door);
    EXPECT_TRUE(is_told(door, 3));
}

TEST_F(KeyWatcherTest, WatchesNothingAfterItIsClosed) {
    watcher.add(door);
    ASSERT_TRUE(is_told(door, 1));
    watcher.close();
    EXPECT_EQ(events.watches(), 0U);
    watcher.add(window);
    EXPECT_EQ(events.opened(), 1U);
    EXPECT_EQ(events.watches(), 0U);
}

TEST(AKeyWatcher, TellsNothingAfterItIsClosed) {
    Events events;
    std::atomic<bool> telling = false;
    std::atomic<bool> may_end = false;
    KeyWatcher watcher{[&] { return events.open(); },
                       [&](std::span<const LockKey>) {
                           telling = true;
                           EXPECT_TRUE(eventually([&] { return may_end.load(); }));
                           telling = false;
                       }};
    watcher.add(door);
    ASSERT_TRUE(eventually([&] { return telling.load(); }));
    Callers callers;
    callers.start([&] {
        watcher.close();
        EXPECT_FALSE(telling);
    });
    EXPECT_TRUE(callers.wait_until_asleep());
    may_end = true;
}

TEST(AKeyWatcher, DoesNothingOnAStoreWithoutAWatch) {
    KeyWatcher watcher{[] { return nullptr; }, [](std::span<const LockKey>) { FAIL(); }};
    watcher.add(door);
    watcher.remove(door);
}

// A store that another process uses, too, and that says what that process does.
class SharedStore final : public Store {
public:
    explicit SharedStore(Events& events) : events_{events} {}

    void apply(std::span<const Request> requests, std::span<Outcome> outcomes) override {
        store_->apply(requests, outcomes);
        ++asked_;
    }
    [[nodiscard]] std::size_t concurrency() const noexcept override { return 1; }
    [[nodiscard]] StoreStatus status() override { return store_->status(); }
    [[nodiscard]] std::unique_ptr<StoreWatch> open_watch() override { return events_.open(); }

    [[nodiscard]] std::size_t asked() const { return asked_; }

    // As another process does it.
    Outcome ask(const Request& request) {
        Outcome outcome;
        store_->apply({&request, 1}, {&outcome, 1});
        return outcome;
    }

private:
    Events& events_;
    ManualClock clock_;
    std::unique_ptr<Store> store_ = memory_store_on(clock_);
    std::atomic<std::size_t> asked_{0};
};

TEST(AWaitingLine, AsksAgainWhenTheWatchTellsItTo) {
    Events events;
    SharedStore store{events};
    const TryLock first{.key = door, .lock_id = LockId::random(), .owner = "alice", .ttl = 1h};
    ASSERT_TRUE(std::holds_alternative<Lease>(store.ask(first)));

    const Limits limits;
    Batcher batcher{store, limits};
    // It asks by itself once an hour.
    WaitingLines lines{batcher, store, {.first_pause = 1h, .longest_pause = 1h}};
    std::atomic<bool> granted = false;
    lines.join(TryLock{.key = door, .lock_id = LockId::random(), .owner = "bob", .ttl = 1h}, 2h, {},
               [&](const Outcome& outcome) { granted = std::holds_alternative<Lease>(outcome); });
    // At first, and when its key is watched.
    ASSERT_TRUE(eventually([&] { return store.asked() == 2; }));
    ASSERT_TRUE(
        std::holds_alternative<Lease>(store.ask(Release{.key = door, .lock_id = first.lock_id})));
    events.end(door);
    EXPECT_TRUE(eventually([&] { return granted.load(); }));
    EXPECT_EQ(store.asked(), 3U);
    lines.close();
}

TEST(AWaitingLine, AnswersATryThatComesAfterItsEnd) {
    Events events;
    SharedStore store{events};
    const Limits limits;
    Batcher batcher{store, limits};
    WaitingLines lines{batcher, store};
    lines.close();
    bool answered = false;
    lines.join(
        TryLock{.key = door, .lock_id = LockId::random(), .owner = "bob", .ttl = 1h}, 2h, {},
        [&](const Outcome& outcome) { answered = std::holds_alternative<StoreFault>(outcome); });
    EXPECT_TRUE(answered);
}

}  // namespace
}  // namespace leasehold::testing
