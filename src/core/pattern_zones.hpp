#pragma once

#include <chrono>
#include <string>

// What a store says of programs that write the pattern's table in another time zone.
namespace leasehold {

// The zone of the nearest neighbour is half an hour away, and an hour as a rule; the pattern's
// locks last for five minutes.
inline constexpr std::chrono::minutes longest_usual_lock{50};

[[nodiscard]] inline std::string says_of_the_east(std::chrono::minutes left) {
    constexpr std::chrono::hours by_hours{3};
    const std::string length =
        left < by_hours
            ? std::to_string(left.count()) + " minutes"
            : std::to_string(std::chrono::floor<std::chrono::hours>(left).count()) + " hours";
    return "ends in " + length +
           ": if that program means less, it writes times of a zone further east; see "
           "docs/decisions/pattern-programs.md";
}

}  // namespace leasehold
