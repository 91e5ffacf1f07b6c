#include "core/durations.hpp"

#include <algorithm>

namespace leasehold {

std::string exactly(Duration duration) {
    if (duration == until_released) return "until released";
    std::string text;
    if (duration < Duration::zero()) {
        duration = -std::max(duration, -Duration::max());
        text = "-";
    }
    const std::size_t sign = text.size();
    for (const DurationUnit& unit : duration_units) {
        const auto count = duration / unit.length;
        if (count > 0) text += std::to_string(count).append(unit.name);
        duration -= count * unit.length;
    }
    return text.size() > sign ? text : "0s";
}

}  // namespace leasehold
