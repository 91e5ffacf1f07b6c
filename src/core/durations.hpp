#pragma once

#include <array>
#include <string>
#include <string_view>

#include <leasehold/time.hpp>

namespace leasehold {

struct DurationUnit {
    std::string_view name;
    Duration length;
};

// The larger first.
inline constexpr std::array duration_units{
    DurationUnit{"d", std::chrono::days{1}}, DurationUnit{"h", std::chrono::hours{1}},
    DurationUnit{"m", std::chrono::minutes{1}}, DurationUnit{"s", std::chrono::seconds{1}},
    DurationUnit{"ms", std::chrono::milliseconds{1}}};

// "1h30m", as people type it; whole milliseconds only.
[[nodiscard]] std::string exactly(Duration duration);

}  // namespace leasehold
