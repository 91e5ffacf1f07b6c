#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <stop_token>
#include <thread>

#include <leasehold/lock_key.hpp>
#include <leasehold/store.hpp>

namespace leasehold {

// Watches the keys that tries wait for, on a thread of its own, and tells when their leases may
// have ended through another process. Thread-safe.
//
// 1. A key that is added is watched after a moment, together with the keys that are added in that
//    moment. So a short wait costs the store nothing.
// 2. The thread waits in StoreWatch::wait() and reports what it returns.
// 3. When the watch fails, the thread opens another one after a pause that grows.
// 4. When no key is left, the thread closes the watch after a while.
class KeyWatcher {
public:
    // Store::open_watch().
    using Open = std::function<std::unique_ptr<StoreWatch>()>;
    // Called on the watcher's thread.
    using Tell = std::function<void(std::span<const LockKey>)>;

    KeyWatcher(Open open, Tell tell) : open_{std::move(open)}, tell_{std::move(tell)} {}
    KeyWatcher(const KeyWatcher&) = delete;
    KeyWatcher& operator=(const KeyWatcher&) = delete;
    ~KeyWatcher() { close(); }

    // Does nothing if the store has no watch, or if the system has no memory or no thread for it.
    void add(const LockKey& key) noexcept;
    void remove(const LockKey& key) noexcept;

    // Tells nothing any more when this returns. Not to be called by `tell`.
    void close() noexcept;

private:
    // Returns what the caller stops once the mutex is released.
    [[nodiscard]] std::stop_source take_in(const LockKey& key);
    void run();
    // Calls StoreWatch::wait(), and tells. False if it failed.
    [[nodiscard]] bool watch_once(std::span<const LockKey> keys, const std::stop_token& stop);

    const Open open_;
    const Tell tell_;
    std::unique_ptr<StoreWatch> watch_;  // of the thread, once it runs

    std::mutex mutex_;
    std::condition_variable changed_;
    // All guarded by mutex_:
    bool closed_ = false;
    bool has_none_ = false;   // the store has no watch
    bool gathering_ = false;  // keys were added since the thread looked
    // The wait that is under way begins to watch keys. It returns soon, and is not interrupted for
    // the next ones, so that it succeeds however fast they are added.
    bool beginning_ = false;
    std::set<LockKey> keys_;
    std::stop_source wait_;  // stopped when the thread shall look at the keys again
    std::thread thread_;
};

}  // namespace leasehold
