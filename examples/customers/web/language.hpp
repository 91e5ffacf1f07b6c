#pragma once

#include <leasehold/language.hpp>

#include <string_view>

namespace customers::web {

using leasehold::Language;

// The text in that language. The English text is the name of a text, and is used where there is no
// translation.
[[nodiscard]] std::string_view in(Language language, std::string_view english);

}  // namespace customers::web
