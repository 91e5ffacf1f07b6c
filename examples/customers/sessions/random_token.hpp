#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace customers {

// That number of random bytes from the operating system, as hexadecimal digits.
[[nodiscard]] std::string random_token(std::size_t bytes);

// Takes the same time wherever the two differ.
[[nodiscard]] bool is_same_secret(std::string_view a, std::string_view b);

}  // namespace customers
