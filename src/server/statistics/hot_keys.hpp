#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <leasehold/lock_key.hpp>

namespace leasehold::server {

// The keys that are tried most, by space saving: a fixed number of places, in small groups that a
// key's hash chooses among; where a group is full, a new key takes the place of the coldest and
// begins with its number. What is hot is never missed, what is shown may be a little too hot. Every
// number halves with time, so that hot means lately. Not thread-safe.
class HotKeys {
public:
    using Clock = std::chrono::steady_clock;
    static constexpr std::chrono::minutes half_life{10};

    explicit HotKeys(Clock::time_point now) : next_halving_{now + half_life} {}

    enum class Answer : std::uint8_t { granted, refused };
    void tried(const LockKey& key, Answer answer, Clock::time_point now);

    struct Heat {
        LockKey key;
        std::uint64_t tries = 0;
        std::uint64_t refusals = 0;  // of them
    };
    // The hottest first.
    [[nodiscard]] std::vector<Heat> hottest(std::size_t most, Clock::time_point now);

private:
    static constexpr std::size_t group_size = 4;
    static constexpr std::size_t groups = 256;
    using Group = std::array<std::optional<Heat>, group_size>;

    void cool_down(Clock::time_point now);

    std::array<Group, groups> places_{};
    Clock::time_point next_halving_;
};

}  // namespace leasehold::server
