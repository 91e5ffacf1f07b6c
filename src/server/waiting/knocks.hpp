#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <leasehold/lease.hpp>

namespace leasehold::server {

// A request to the holders of a key to release it.
struct Knock {
    std::string by{};
    std::string message{};
    Time at{};  // on the store's clock
};

// Remembers knocks for a while. A holder learns of them when it checks or renews its lease. Other
// servers do not know them. Thread-safe.
class Knocks {
public:
    using Clock = std::chrono::steady_clock;

    // A new key replaces the key with the oldest knocks. A new knock replaces the oldest knock on
    // its key, or is refused.
    static constexpr std::size_t most_keys = 1000;
    static constexpr std::size_t most_per_key = 10;
    static constexpr std::chrono::minutes kept_for{10};
    // On one key an owner may knock once in this time, and all owners together most_per_key times.
    static constexpr std::chrono::seconds breather{5};

    // Adds the knock. If that is too early, returns how long to wait before knocking again.
    [[nodiscard]] std::optional<Clock::duration> add(const LockKey& key,
                                                     const std::vector<Holder>& holders,
                                                     Knock knock,
                                                     Clock::time_point now = Clock::now());

    // The knocks for the holder of this lease, oldest first.
    [[nodiscard]] std::vector<Knock> on(const LockKey& key, Fence fence,
                                        Clock::time_point now = Clock::now()) const {
        if (keys_.load(std::memory_order_relaxed) == 0) return {};
        return find(key, fence, now);
    }

private:
    struct Kept {
        Knock knock;
        Clock::time_point at;
        std::vector<Fence> fences;  // the leases that were alive at that time
    };

    [[nodiscard]] std::vector<Knock> find(const LockKey& key, Fence fence,
                                          Clock::time_point now) const;
    // Forgets old knocks, and one key more if there is no room for a new one.
    void make_room(const LockKey& key, Clock::time_point now);

    mutable std::mutex mutex_;
    std::unordered_map<LockKey, std::deque<Kept>> kept_;  // guarded by mutex_
    std::atomic<std::size_t> keys_{0};                    // the size of kept_
};

}  // namespace leasehold::server
