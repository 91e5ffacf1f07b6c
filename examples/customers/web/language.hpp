#pragma once

#include <cstdint>
#include <string_view>

#include "web/html.hpp"

namespace customers::web {

enum class Language : std::uint8_t { english, korean };

// The first one of an Accept-Language field; English unless it is Korean.
[[nodiscard]] Language language_of(std::string_view accepted);
[[nodiscard]] std::string_view code_of(Language language);

// A text of this application in that language: known by its English words, which stand for
// themselves where there are no others.
[[nodiscard]] std::string_view in(Language language, std::string_view english);

// The same with its {} filled; escaped, as html() does.
template <class... Values>
[[nodiscard]] Html say(Language language, Template english, const Values&... values) {
    return Filling::fill(in(language, english.text()), values...);
}

}  // namespace customers::web
