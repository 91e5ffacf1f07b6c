#include <leasehold/language.hpp>

#include <algorithm>
#include <optional>

#include "core/enum_table.hpp"
#include "core/text.hpp"
#include "core/weighted_list.hpp"

namespace leasehold {
namespace {

constexpr EnumTable<Language, std::string_view> language_tags{
    {{Language::english, "en"}, {Language::korean, "ko"}}};

std::optional<Language> known_language(std::string_view tag) noexcept {
    const std::string_view primary = tag.substr(0, tag.find('-'));
    for (const auto& [language, known] : language_tags) {
        if (std::ranges::equal(primary, known, {}, lower_letter)) return language;
    }
    return std::nullopt;
}

bool is_range(std::string_view text) noexcept {
    constexpr auto fits = [](char c) {
        const char letter = lower_letter(c);
        return (letter >= 'a' && letter <= 'z') || (c >= '0' && c <= '9') || c == '-';
    };
    return text == "*" || std::ranges::all_of(text, fits);
}

}  // namespace

std::string_view tag_of(Language language) noexcept {
    return language_tags[language];
}

Language language_of(std::string_view tag) noexcept {
    return known_language(tag).value_or(Language::english);
}

Language preferred_language(std::string_view accept_language) noexcept {
    Language best = Language::english;
    int best_weight = 0;
    EnumArray<Language, bool> named;
    int others = 0;  // the weight of "*": the languages that the field does not name
    while (!accept_language.empty()) {
        const auto [range, weight] = next_item(accept_language);
        if (!weight || !is_range(range)) return Language::english;
        if (range == "*") others = *weight;
        const auto language = known_language(range);
        if (!language) continue;
        named[*language] = true;
        if (*weight <= best_weight) continue;
        best = *language;
        best_weight = *weight;
    }
    named.for_each([&](Language language, bool is_named) {
        if (is_named || others <= best_weight) return;
        best = language;
        best_weight = others;
    });
    return best;
}

}  // namespace leasehold
