#pragma once

#include <leasehold/time.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

// Bugs that are put into a copy of the code, to see whether the checker finds them.
namespace leasehold::lab {

struct SeededBug {
    std::string name;
    std::string file;  // it is in, or its folder
};
extern const std::vector<SeededBug> seeded_bugs;

// What a bug says to a database instead.
struct SeededSql {
    std::size_t bug;
    std::string_view before, after;
};
extern const std::vector<SeededSql> seeded_sql;

// The bug that is on; 0: none. Counted from 1.
inline std::size_t seeded_bug = 0;

// The statement as the bug that is on would have it.
inline std::string as_seeded(std::string_view statement) {
    std::string text{statement};
    for (const auto& [bug, before, after] : seeded_sql) {
        if (bug != seeded_bug) continue;
        if (const auto at = text.find(before); at != std::string::npos) {
            text.replace(at, before.size(), after);
        }
    }
    return text;
}

// The wall clock of one of several machines: they are never quite alike.
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
