#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <leasehold/key_set.hpp>

namespace leasehold::server {

// Finds the keys that were tried most often lately, in bounded memory (the "space saving"
// algorithm). Not thread-safe.
// 1. There is a fixed number of places, in small groups. The hash of a key selects its group.
// 2. A try increases the count of its key.
// 3. A new key in a full group replaces the key with the lowest count, and starts with that count.
//    So a hot key is never missed, and a shown count may be too high. The inherited part is kept
//    apart: a client that may see only some keys gets the counts without it.
// 4. All counts are halved after each half-life, so that old tries lose their weight.
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
        std::uint64_t refusals = 0;  // the tries that were refused
    };
    // The hottest of these keys, the hottest first. Counts of some keys tell nothing about others.
    [[nodiscard]] std::vector<Heat> hottest(std::size_t most, Clock::time_point now,
                                            const KeySet& among = {});

private:
    static constexpr std::size_t group_size = 4;
    static constexpr std::size_t groups = 256;
    struct Place {
        Heat heat;  // since the key has had this place
        std::uint64_t inherited = 0;

        [[nodiscard]] std::uint64_t tries() const { return inherited + heat.tries; }
    };
    using Group = std::array<std::optional<Place>, group_size>;

    [[nodiscard]] static std::uint64_t tries_of(const std::optional<Place>& place) {
        return place ? place->tries() : 0;
    }

    void cool_down(Clock::time_point now);

    std::array<Group, groups> places_{};
    Clock::time_point next_halving_;
};

}  // namespace leasehold::server
