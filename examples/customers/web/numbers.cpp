#include "web/numbers.hpp"

#include <fmt/format.h>

#include <charconv>

namespace customers::web {

std::optional<std::int64_t> integer_from(std::string_view text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size() || number < 0) return std::nullopt;
    return number;
}

std::optional<std::int64_t> cents_from(std::string_view text) {
    constexpr std::size_t most_digits = 12;
    const std::size_t point = text.find('.');
    std::string digits{text.substr(0, point)};
    std::string_view fraction = point == std::string_view::npos ? "" : text.substr(point + 1);
    if (digits.empty() || digits.size() > most_digits || fraction.size() > 2) return std::nullopt;
    digits += fraction;
    digits.append(2 - fraction.size(), '0');
    return integer_from(digits);
}

std::string price_text(std::int64_t cents) {
    return fmt::format("{}.{:02}", cents / 100, cents % 100);
}

}  // namespace customers::web
