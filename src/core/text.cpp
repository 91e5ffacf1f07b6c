#include "core/text.hpp"

#include <algorithm>

namespace leasehold {
namespace {

// The length of the UTF-8 sequence at the start of a non-empty text, or 0 if it is not valid UTF-8.
std::size_t sequence_length(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const auto follows = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xBF) {
        return i < text.size() && byte(i) >= low && byte(i) <= high;
    };
    const unsigned first = byte(0);
    if (first < 0x80) return 1;
    if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
    if (first >= 0xE0 && first <= 0xEF) {
        // No overlong forms, no surrogates.
        const unsigned low = first == 0xE0 ? 0xA0 : 0x80;
        const unsigned high = first == 0xED ? 0x9F : 0xBF;
        return follows(1, low, high) && follows(2) ? 3 : 0;
    }
    if (first >= 0xF0 && first <= 0xF4) {
        const unsigned low = first == 0xF0 ? 0x90 : 0x80;
        const unsigned high = first == 0xF4 ? 0x8F : 0xBF;
        return follows(1, low, high) && follows(2) && follows(3) ? 4 : 0;
    }
    return 0;
}

// Whether the text begins with one of the characters U+0000 to U+001F or U+007F to U+009F.
bool begins_with_control(std::string_view text, Lines lines) {
    const char c = text[0];
    if (lines == Lines::many && (c == '\t' || c == '\n' || c == '\r')) return false;
    if (c == '\xC2') return text.size() > 1 && static_cast<unsigned char>(text[1]) < 0xA0;
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
}

}  // namespace

std::optional<std::string> text_problem(std::string_view what, std::string_view text,
                                        std::size_t max_bytes, Lines lines) {
    const auto name = [&] { return std::string{what}; };
    if (text.size() > max_bytes) {
        return name() + " is " + std::to_string(text.size()) + " bytes long; at most " +
               std::to_string(max_bytes) + " are allowed";
    }
    const auto plain = [](char c) { return c >= 0x20 && c < 0x7F; };
    for (std::size_t at = 0; at < text.size();) {
        if (plain(text[at])) {
            ++at;
            continue;
        }
        if (begins_with_control(text.substr(at), lines)) {
            return name() + " contains a control character at byte " + std::to_string(at);
        }
        const std::size_t length = sequence_length(text.substr(at));
        if (length == 0) return name() + " is not valid UTF-8 at byte " + std::to_string(at);
        at += length;
    }
    return std::nullopt;
}

std::string lower(std::string_view text) {
    std::string result{text};
    std::ranges::transform(result, result.begin(), lower_letter);
    return result;
}

}  // namespace leasehold
