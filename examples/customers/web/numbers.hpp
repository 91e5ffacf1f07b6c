#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace customers::web {

// Digits and nothing else.
[[nodiscard]] std::optional<std::int64_t> integer_from(std::string_view text);

// "4.50" as 450, and the other way round.
[[nodiscard]] std::optional<std::int64_t> cents_from(std::string_view text);
[[nodiscard]] std::string price_text(std::int64_t cents);

}  // namespace customers::web
