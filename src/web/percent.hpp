#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace leasehold::web {

// "a%2Fb" is "a/b". Nothing if a % is not followed by two hexadecimal digits.
[[nodiscard]] std::optional<std::string> decode_percent(std::string_view text);
// The same for a part of a form, in which + is a space.
[[nodiscard]] std::optional<std::string> decode_form(std::string_view text);

}  // namespace leasehold::web
