#pragma once

#include <string_view>

#include <leasehold/lock_key.hpp>

namespace leasehold {

// Browsers and proxies remove these segments from the path of a URL, encoded (%2e%2e) or not.
[[nodiscard]] constexpr bool is_dots(std::string_view segment) noexcept {
    return segment == "." || segment == "..";
}

// Whether a URL cannot name the key. Such a key is never granted.
[[nodiscard]] inline bool has_dots(const LockKey& key) noexcept {
    return is_dots(key.type()) || is_dots(key.id());
}

}  // namespace leasehold
