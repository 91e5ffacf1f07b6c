#pragma once

#include <leasehold/time.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

// Bugs that are inserted into a copy of the code, to test whether the checker finds them.
namespace leasehold::lab {

struct SeededBug {
    std::string name;
    std::string file;  // that the bug is in, or its folder
};
extern const std::vector<SeededBug> seeded_bugs;

// The number of the active bug, counted from 1; 0 if no bug is active.
inline std::size_t seeded_bug = 0;

// The statement with the change that the active bug makes. Every place of a bug reads <<lab
// NUMBER>>correct SQL<<or>>wrong SQL<<end>>, see Seeding.cmake.
inline std::string as_seeded(std::string_view statement) {
    static constexpr std::string_view begin = "<<lab ", close = ">>", other = "<<or>>",
                                      end = "<<end>>";
    std::string text;
    for (;;) {
        const auto at = statement.find(begin);
        text += statement.substr(0, at);
        if (at == std::string_view::npos) return text;
        statement.remove_prefix(at + begin.size());
        const bool on = std::to_string(seeded_bug) == statement.substr(0, statement.find(close));
        statement.remove_prefix(statement.find(close) + close.size());
        const auto middle = statement.find(other), last = statement.find(end);
        text += on ? statement.substr(middle + other.size(), last - middle - other.size())
                   : statement.substr(0, middle);
        statement.remove_prefix(last + end.size());
    }
}

// The wall clock of one of several machines. No two of them show exactly the same time.
inline Time wall_clock_of(const void* machine) {
    const auto apart = static_cast<std::int64_t>(std::hash<const void*>{}(machine) / 64 % 800);
    return std::chrono::floor<Duration>(std::chrono::system_clock::now()) +
           std::chrono::milliseconds{apart - 400};
}

}  // namespace leasehold::lab

namespace leasehold {

inline bool seeded(std::size_t number) {
    return lab::seeded_bug == number;
}

}  // namespace leasehold
