#include "core/text.hpp"

#include <algorithm>
#include <array>

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

// The character that a valid UTF-8 sequence encodes.
char32_t character_in(std::string_view sequence) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(sequence[i]); };
    if (sequence.size() == 1) return byte(0);
    char32_t character = byte(0) & (0xFFU >> (sequence.size() + 1));
    for (std::size_t i = 1; i < sequence.size(); ++i)
        character = character << 6 | (byte(i) & 0x3FU);
    return character;
}

void append_escape(std::string& out, char32_t unit) {
    constexpr std::string_view digits = "0123456789abcdef";
    out += "\\u";
    for (unsigned shift = 16; shift > 0; shift -= 4) out += digits[unit >> (shift - 4) & 15U];
}

void append_escaped(std::string& out, char32_t character) {
    if (character < 0x10000) return append_escape(out, character);
    append_escape(out, 0xD800 + ((character - 0x10000) >> 10));
    append_escape(out, 0xDC00 + ((character - 0x10000) & 0x3FFU));
}

// Copies the text; `replace` appends something instead of a character that acts on a terminal.
template <class Replace>
std::string with_replacements(std::string_view text, Replace replace) {
    constexpr char32_t not_a_character = 0xFFFD;
    std::string result;
    while (!text.empty()) {
        const std::size_t length = sequence_length(text);
        const std::string_view sequence = text.substr(0, std::max<std::size_t>(length, 1));
        const char32_t character = length == 0 ? not_a_character : character_in(sequence);
        if (length == 0 || acts_on_terminal(character))
            replace(result, character);
        else
            result += sequence;
        text.remove_prefix(sequence.size());
    }
    return result;
}

}  // namespace

bool acts_on_terminal(char32_t character) noexcept {
    struct Range {
        char32_t first, last;
    };
    constexpr auto ranges =
        std::to_array<Range>({{0x00, 0x1F},
                              {0x7F, 0x9F},
                              {0x061C, 0x061C},       // Arabic letter mark
                              {0x200E, 0x200F},       // direction marks
                              {0x2028, 0x202E},       // line ends, embeddings, overrides
                              {0x2060, 0x206F},       // invisible operators, isolates
                              {0xFEFF, 0xFEFF},       // byte order mark
                              {0xFFF9, 0xFFFB},       // annotations
                              {0xE0000, 0xE0FFF},     // tags, variation selectors
                              {0xF0000, 0x10FFFF}});  // private use
    return std::ranges::any_of(ranges, [character](const Range& range) {
        return character >= range.first && character <= range.last;
    });
}

std::string harmless(std::string_view text) {
    return with_replacements(text, [](std::string& out, char32_t) { out += ' '; });
}

std::string harmless_json(std::string_view json) {
    return with_replacements(json, append_escaped);
}

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
