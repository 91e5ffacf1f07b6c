#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace customers::web {

// "a%20b" as "a b". Nothing where a % is not followed by two hexadecimal digits.
[[nodiscard]] std::optional<std::string> decode_percent(std::string_view text);

// Everything but letters, digits, "-", "_" and "." as %XX.
[[nodiscard]] std::string encode_percent(std::string_view text);

}  // namespace customers::web
