#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace customers {

inline constexpr std::size_t longest_line = 200;
inline constexpr std::size_t longest_note = 2'000;

// In characters, not bytes; the text is UTF-8.
[[nodiscard]] inline std::size_t length_of(std::string_view text) {
    const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; };
    return static_cast<std::size_t>(std::ranges::count_if(text, begins));
}
[[nodiscard]] inline bool is_short(std::string_view text) {
    return length_of(text) <= longest_line;
}

// Without spaces at either end, and with "\n" at the end of every line.
[[nodiscard]] inline std::string tidy(std::string_view text) {
    constexpr std::string_view blank = " \t\r\n";
    const std::size_t begin = std::min(text.find_first_not_of(blank), text.size());
    std::string tidied{text.substr(begin, text.find_last_not_of(blank) + 1 - begin)};
    std::erase(tidied, '\r');
    return tidied;
}

// Digits and nothing else.
[[nodiscard]] inline std::optional<std::int64_t> integer_from(std::string_view text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size() || number < 0) return std::nullopt;
    return number;
}

}  // namespace customers
