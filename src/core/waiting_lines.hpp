#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include <leasehold/store.hpp>
#include <leasehold/time.hpp>

#include "core/batcher.hpp"
#include "core/key_watcher.hpp"
#include "core/retry.hpp"

namespace leasehold {

// Where tries wait for keys that others hold, first come, first served. Thread-safe.
//
// 1. A try joins the line of each of its keys, at the end. An owner that holds one of the keys
//    already goes to the front, because it need not wait for itself.
// 2. A try that is the first in all of its lines asks the store. The others do not ask.
// 3. It asks again when a lease on one of its keys ends through this lock manager, when the store's
//    watch (KeyWatcher) says that one may have ended through another process, when the holders'
//    leases are due to expire, and once in a while (retries::held_lock), because the watch may miss
//    an end. It always asks with the same lock id. So after a fault, the next answer says whether
//    the lock was granted.
// 4. A grant answers the try. It leaves its lines, and the next ones ask (step 2).
// 5. A try whose patience is over is answered with the latest refusal or fault of its lines. If it
//    is asking at that moment, the store's answer is its answer. If there was no answer yet, it
//    asks for the last time.
// 6. A try that is stopped is answered at once. If the lock is granted to it afterwards, that lease
//    is released, unless the caller drew the lock id.
//
// Tries join all of their lines at one moment, so every line has the same order, and the oldest try
// is the first in all of its lines: tries of several keys never wait for one another in a circle.
//
// If the store has a line of its own (StoreLine), tries of one key wait there instead.
//
// The server has another line, server::WaitingRoom; docs/decisions/two-lines.md says why it is
// another class.
class WaitingLines {
public:
    using Reply = Batcher::Reply;

    // The batcher outlives the calls of close() and join(); the store outlives this. `pauses` is
    // how often a try asks once in a while.
    WaitingLines(Batcher& batcher, Store& store, RetryPolicy pauses = retries::held_lock);
    WaitingLines(const WaitingLines&) = delete;
    WaitingLines& operator=(const WaitingLines&) = delete;
    ~WaitingLines();

    // Waits with a try, and calls `reply` once. The try is within the limits. Without patience it
    // is a plain try.
    void join(Request wanted, Duration patience, std::stop_token stop, Reply reply);
    // The same, on the caller's thread. A StoreFault is an outcome here, not an exception.
    [[nodiscard]] Outcome wait(Request wanted, Duration patience, std::stop_token stop);

    // Step 3: the outcome of a request that ends leases.
    void ended(const Outcome& outcome);
    // Step 3: leases of these keys may have ended.
    void wake(std::span<const LockKey> keys);

    // Answers every try that waits. Tries that are asking are answered by the batcher.
    void close();

private:
    struct Waiter;
    using WaiterPtr = std::shared_ptr<Waiter>;
    // The order in a line: owners that hold the key come first.
    struct Place {
        enum class Rank : std::uint8_t { holder, other } rank = Rank::other;
        std::uint64_t arrival = 0;
        friend auto operator<=>(const Place&, const Place&) = default;
    };
    struct Line {
        std::map<Place, WaiterPtr> waiters{};
        Outcome latest{};  // a refusal or a fault of the first; nothing after a grant
        bool watched = false;
    };
    // What to do once the mutex is released, because it calls others.
    struct Work {
        std::vector<std::pair<WaiterPtr, Outcome>> answers{};
        std::vector<Release> releases{};
        std::vector<WaiterPtr> asks{};
    };
    // A try that waits in the store's line, on a thread of its own.
    struct StoreWait {
        std::stop_source stop{};
        bool done = false;  // guarded by mutex_
        std::thread thread{};
    };

    void do_work(Work&& work);
    void send(const WaiterPtr& waiter);
    void send(Release release);

    // All of these under mutex_:
    void enter(const WaiterPtr& waiter);
    void leave(const WaiterPtr& waiter, Outcome outcome, Work& work);
    void forget(const WaiterPtr& waiter) noexcept;
    // Releases what the store may have granted to a try that has left.
    static void give_back(const Waiter& waiter, Work& work);
    [[nodiscard]] bool is_first(const Waiter& waiter) const;
    void ask(const WaiterPtr& waiter, Work& work);
    void ask_if_first(const WaiterPtr& waiter, Work& work);
    void ask_first_of(const LockKey& key, Work& work);
    void watch(std::span<const LockKey> keys);
    void put_holders_first(const Waiter& refused, const Refusal& refusal);
    [[nodiscard]] std::optional<Outcome> latest_for(const Waiter& waiter) const;
    [[nodiscard]] Duration pause_after(Waiter& waiter) const;
    void end_patience(const WaiterPtr& waiter, Work& work);
    void wake_at(const WaiterPtr& waiter, SteadyClock::time_point when);
    void start_thread();

    void tried(const WaiterPtr& waiter, Outcome outcome);
    void stop(const WaiterPtr& waiter);
    void run();

    void join_store_line(TryLock wanted, SteadyClock::time_point until, std::stop_token stop,
                         Reply reply);
    [[nodiscard]] Outcome wait_in_store_line(TryLock wanted, SteadyClock::time_point until,
                                             const std::stop_token& stop);
    [[nodiscard]] Outcome ask_store_line(const TryLock& wanted, Duration patience,
                                         const std::stop_token& stop);

    Batcher& batcher_;
    StoreLine* const store_line_;
    const RetryPolicy pauses_;
    KeyWatcher watcher_;

    // Tries in lines_. A try is counted before it asks, so a lease that ends while this is 0 ends
    // before the try asks.
    std::atomic<std::size_t> waiting_{0};

    std::mutex mutex_;
    std::condition_variable changed_;
    // All guarded by mutex_:
    bool closed_ = false;
    std::uint64_t arrivals_ = 0;
    std::unordered_map<LockKey, Line> lines_;
    std::set<std::pair<SteadyClock::time_point, WaiterPtr>> agenda_;  // when to look at a try
    std::thread thread_;  // starts with the first try that has to wait
    std::list<StoreWait> store_waits_;
};

}  // namespace leasehold
