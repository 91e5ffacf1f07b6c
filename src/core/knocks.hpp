#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <leasehold/lease.hpp>

namespace leasehold {

// A request to the holders of a key to release it.
struct Knock {
    std::string by{};
    std::string message{};
    Time at{};             // on the store's clock
    std::string client{};  // whom it counts for: the id of the client's token, or a user
};

// Remembers knocks for a while. A holder learns of them when it checks or renews its lease. Other
// processes do not know them. Thread-safe.
class Knocks {
public:
    using Clock = std::chrono::steady_clock;

    // If there is no room for a new key, the client that was the last to knock on the most keys
    // loses its oldest knocks. If there is no room for a new knock on its key, the client with the
    // most knocks there loses its oldest, or the new knock is refused. So no client replaces the
    // knocks of others that have fewer.
    static constexpr std::size_t most_keys = 1000;
    static constexpr std::size_t most_per_key = 10;
    static constexpr std::chrono::minutes kept_for{10};
    // On one key an owner may knock once in this time, and a client most_per_key times.
    static constexpr std::chrono::seconds breather{5};

    // For this many early knocks, the store is still asked whether the key is held, so that a
    // person who knocks again learns that the key is free.
    static constexpr int most_early = 3;

    // How long to wait before knocking again, if an owner has come too early that often. Then the
    // store is not asked.
    [[nodiscard]] std::optional<Clock::duration> pause_of(
        const LockKey& key, const Knock& knock, Clock::time_point now = Clock::now()) const;

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
        Fence newest;  // of the leases that were alive at that time; all others had lower fences
        int came_early = 0;  // how often its owner knocked again too early
    };
    using Line = std::deque<Kept>;  // on one key, the oldest first
    [[nodiscard]] static std::string_view client_of(const Kept& kept) { return kept.knock.client; }

    [[nodiscard]] std::vector<Knock> find(const LockKey& key, Fence fence,
                                          Clock::time_point now) const;
    // Where the knock that makes room for one more of this client is, in a line that is full.
    [[nodiscard]] static Line::const_iterator replaced_by(const std::string& client,
                                                          const Line& line);
    [[nodiscard]] static std::optional<Clock::duration> pause_before(const Line& line,
                                                                     const Knock& knock,
                                                                     Clock::time_point now);

    // Under mutex_:
    // Forgets old knocks, and more of them if there is no room for a new key.
    void make_room(const LockKey& key, const std::string& client, Clock::time_point now);
    // The client that was the last to knock on the most keys, where `asking` counts with one more.
    [[nodiscard]] std::string fullest(const std::string& asking) const;
    // Forgets the client's knocks on the key on which its last knock is the oldest.
    void forget_oldest_of(const std::string& client);

    mutable std::mutex mutex_;
    std::unordered_map<LockKey, Line> kept_;  // guarded by mutex_
    std::atomic<std::size_t> keys_{0};        // the size of kept_
};

}  // namespace leasehold
