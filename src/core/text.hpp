#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <leasehold/time.hpp>

namespace leasehold {

enum class Lines : std::uint8_t { one, many };

// What is wrong with a text from outside, or nothing. A good text is valid UTF-8 of at most
// `max_bytes`, without control characters (`Lines::many` allows tabs and line breaks).
[[nodiscard]] std::optional<std::string> text_problem(std::string_view what, std::string_view text,
                                                      std::size_t max_bytes, Lines lines);

// Whether a terminal may do more with a character than show it: control characters, and characters
// that break lines, change the direction of writing or stay invisible.
[[nodiscard]] bool acts_on_terminal(char32_t character) noexcept;

// A text from outside on one line of a terminal: a space takes the place of every character that
// acts on a terminal, and of every byte that is not UTF-8.
[[nodiscard]] std::string harmless(std::string_view text);
// The same for a line of JSON, which means the same afterwards: such characters are escaped.
[[nodiscard]] std::string harmless_json(std::string_view json);

// Changes ASCII letters only, as protocols demand; every other byte stays as it is.
[[nodiscard]] constexpr char lower_letter(char c) noexcept {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
[[nodiscard]] std::string lower(std::string_view text);

// As to_string(Time) prints it.
void append(std::string& out, Time time);

// The text without spaces and tabs at its ends.
[[nodiscard]] constexpr std::string_view trimmed(std::string_view text) noexcept {
    const std::size_t first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace leasehold
