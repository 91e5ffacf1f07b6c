#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace customers {

inline constexpr std::size_t longest_line = 200;
inline constexpr std::size_t longest_note = 2'000;

// In characters, not bytes; the text is UTF-8.
[[nodiscard]] std::size_t length_of(std::string_view text);
[[nodiscard]] inline bool is_short(std::string_view text) {
    return length_of(text) <= longest_line;
}

// Without spaces at either end, and with "\n" at the end of every line.
[[nodiscard]] std::string tidy(std::string_view text);

}  // namespace customers
