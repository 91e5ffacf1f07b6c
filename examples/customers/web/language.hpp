#pragma once

#include <leasehold/language.hpp>

#include <string_view>

#include "web/html.hpp"

namespace customers::web {

using leasehold::Language;

// The text in that language. The English text is the name of a text, and is used where there is no
// translation.
[[nodiscard]] std::string_view in(Language language, std::string_view english);

// The same with its {} replaced; values are escaped, as in html().
template <class... Values>
[[nodiscard]] Html say(Language language, Template english, const Values&... values) {
    return Filling::fill(in(language, english.text()), values...);
}

}  // namespace customers::web
