#pragma once

#include <cstdint>
#include <string_view>

namespace customers::web {

enum class Language : std::uint8_t { english, korean };

// Korean if an Accept-Language field starts with it, otherwise English.
[[nodiscard]] Language language_of(std::string_view accepted);
[[nodiscard]] std::string_view code_of(Language language);

// The text in that language. The English text is the name of a text, and is used where there is no
// translation.
[[nodiscard]] std::string_view in(Language language, std::string_view english);

}  // namespace customers::web
