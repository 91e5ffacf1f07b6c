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

#include <boost/json/array.hpp>

#include <leasehold/lease.hpp>

namespace leasehold::server {

// Somebody asks the holders of a key for it.
struct Knock {
    std::string by{};
    std::string message{};
    Time at{};  // on the store's clock
};

// Remembers for a while who knocked, for holders that are told of it when they ask for their lease.
// Known to this process only. Thread-safe.
class Knocks {
public:
    using Clock = std::chrono::steady_clock;

    // Everything is bounded: what exceeds it is refused or pushes out what is oldest.
    static constexpr std::size_t most_keys = 1000;
    static constexpr std::size_t most_per_key = 10;
    static constexpr std::chrono::minutes kept_for{10};
    // An owner knocks once in this time, and all together most_per_key times.
    static constexpr std::chrono::seconds breather{5};

    // How long to wait before knocking again; nothing where this one counts.
    [[nodiscard]] std::optional<Clock::duration> add(const LockKey& key,
                                                     const std::vector<Holder>& holders,
                                                     Knock knock,
                                                     Clock::time_point now = Clock::now());

    // Those that concern this lease, the oldest first.
    [[nodiscard]] std::vector<Knock> on(const LockKey& key, Fence fence,
                                        Clock::time_point now = Clock::now()) const {
        if (keys_.load(std::memory_order_relaxed) == 0) return {};
        return find(key, fence, now);
    }

private:
    struct Kept {
        Knock knock;
        Clock::time_point at;
        std::vector<Fence> fences;  // of the leases there were
    };

    [[nodiscard]] std::vector<Knock> find(const LockKey& key, Fence fence,
                                          Clock::time_point now) const;
    void make_room(Clock::time_point now);

    mutable std::mutex mutex_;
    std::unordered_map<LockKey, std::deque<Kept>> kept_;  // guarded by mutex_
    std::atomic<std::size_t> keys_{0};                    // of kept_
};

[[nodiscard]] boost::json::array to_json(const std::vector<Knock>& knocks);

}  // namespace leasehold::server
