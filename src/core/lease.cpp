#include <leasehold/lease.hpp>
#include <leasehold/store_status.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/enum_names.hpp"
#include "core/text.hpp"

namespace leasehold {
namespace {

// Writes the digits that end before `end`.
void write_digits(char* end, std::size_t digits, std::int64_t number) {
    for (auto rest = static_cast<std::uint32_t>(number); digits > 0; --digits, rest /= 10) {
        *--end = static_cast<char>('0' + rest % 10);
    }
}

}  // namespace

// The names are string literals, so each ends with a null character.
const char* to_string(Mode mode) noexcept {
    return mode_names[mode].data();
}

const char* to_string(Gone gone) noexcept {
    return gone_names[gone].data();
}

const char* to_string(Refusal::Kind kind) noexcept {
    return refusal_names[kind].data();
}

const char* to_string(Durability durability) noexcept {
    return durability_names[durability].data();
}

std::string to_string(Time time) {
    std::string text;
    append(text, time);
    return text;
}

void append(std::string& out, Time time) {
    if (time == never) {
        out.append("never");
        return;
    }
    // Four digits show the years 0 to 9999.
    constexpr Time first = std::chrono::sys_days{std::chrono::year{0} / 1 / 1};
    constexpr Time last =
        Time{std::chrono::sys_days{std::chrono::year{10'000} / 1 / 1}} - Duration{1};
    time = std::clamp(time, first, last);
    const auto day = std::chrono::floor<std::chrono::days>(time);
    const std::chrono::year_month_day date{day};
    const std::chrono::hh_mm_ss clock{time - day};
    constexpr std::string_view form = "0000-00-00T00:00:00.000000Z";
    out.append(form);
    char* const text = out.data() + out.size() - form.size();
    write_digits(text + 4, 4, static_cast<int>(date.year()));
    write_digits(text + 7, 2, static_cast<unsigned>(date.month()));
    write_digits(text + 10, 2, static_cast<unsigned>(date.day()));
    write_digits(text + 13, 2, clock.hours().count());
    write_digits(text + 16, 2, clock.minutes().count());
    write_digits(text + 19, 2, clock.seconds().count());
    write_digits(text + 26, 6, clock.subseconds().count());
}

}  // namespace leasehold
