#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

#include <leasehold/language.hpp>

#include "core/enum_table.hpp"

namespace leasehold {

inline constexpr std::array languages{Language::english, Language::korean};
static_assert(languages.size() == enum_size<Language>);

// The value of a hole: {"name", "Kim"} for "{name} holds it".
struct Filling {
    std::string_view hole;
    std::string_view value;
};

// In one pass, so that a value that looks like a hole stays as it is. A hole without a value stays.
[[nodiscard]] std::string filled(std::string_view text, std::initializer_list<Filling> fillings);

// A text for people in every language. A phrase whose languages have different holes does not
// compile.
class Phrase {
public:
    constexpr Phrase() = default;
    consteval Phrase(std::string_view english, std::string_view korean) {
        if (english.empty() || korean.empty()) throw "a language has no text";
        if (!has_holes_of(english, korean) || !has_holes_of(korean, english)) {
            throw "the languages have different holes";
        }
        texts_[Language::english] = english;
        texts_[Language::korean] = korean;
    }

    [[nodiscard]] constexpr std::string_view in(Language language) const noexcept {
        return texts_[language];
    }
    [[nodiscard]] std::string in(Language language, std::initializer_list<Filling> fillings) const {
        return filled(in(language), fillings);
    }

private:
    static consteval bool has_holes_of(std::string_view text, std::string_view other) {
        for (std::size_t open = other.find('{'); open != std::string_view::npos;
             open = other.find('{', open + 1)) {
            const std::string_view hole = other.substr(open, other.find('}', open) - open + 1);
            if (!hole.ends_with('}') || text.find(hole) == std::string_view::npos) return false;
        }
        return true;
    }

    EnumArray<Language, std::string_view> texts_{};
};

}  // namespace leasehold
