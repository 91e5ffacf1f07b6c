#pragma once

#include <string_view>

#include "web/html.hpp"
#include "web/language.hpp"

namespace customers::web {

// The name of a form's field in words, also of "address.2.street".
[[nodiscard]] Html label_of(Language language, std::string_view field);

}  // namespace customers::web
