#include "domain/text.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace customers {
namespace {

bool continues(char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

// The first character of a text, and how many bytes it has; none where it is not UTF-8.
struct Character {
    std::uint32_t code = 0;
    std::size_t bytes = 0;
};

Character first_of(std::string_view text) {
    const auto lead = static_cast<unsigned char>(text.front());
    if (lead < 0x80U) return {lead, 1};
    const std::size_t bytes = lead >= 0xF0U ? 4 : lead >= 0xE0U ? 3 : 2;
    if (lead < 0xC2U || lead > 0xF4U || text.size() < bytes) return {};
    std::uint32_t code = lead & (0xFFU >> (bytes + 1));
    for (const char c : text.substr(1, bytes - 1)) {
        if (!continues(c)) return {};
        code = (code << 6U) | (static_cast<unsigned char>(c) & 0x3FU);
    }
    constexpr std::array<std::uint32_t, 5> smallest{0, 0, 0x80, 0x800, 0x1'0000};
    const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    if (code < smallest[bytes] || surrogate || code > 0x10'FFFF) return {};
    return {code, bytes};
}

bool is_control(std::uint32_t code) {
    if (code == '\t' || code == '\r' || code == '\n') return false;
    return code < 0x20 || (code >= 0x7F && code < 0xA0);
}

}  // namespace

std::size_t length_of(std::string_view text) {
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char c) { return !continues(c); }));
}

bool is_clean(std::string_view text) {
    while (!text.empty()) {
        const Character character = first_of(text);
        if (character.bytes == 0 || is_control(character.code)) return false;
        text.remove_prefix(character.bytes);
    }
    return true;
}

std::string tidy(std::string_view text) {
    constexpr std::string_view blank = " \t\r\n";
    const std::size_t begin = text.find_first_not_of(blank);
    if (begin == std::string_view::npos) return {};
    std::string tidied{text.substr(begin, text.find_last_not_of(blank) + 1 - begin)};
    std::erase(tidied, '\r');
    return tidied;
}

}  // namespace customers
