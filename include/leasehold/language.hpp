#pragma once

#include <cstdint>
#include <string_view>

namespace leasehold {

// The languages that Leasehold's sentences for people are written in.
enum class Language : std::uint8_t { english, korean };

// "en" or "ko", as in the `lang` of a page.
[[nodiscard]] std::string_view tag_of(Language language) noexcept;

// The language of a tag such as "ko" or "ko-KR"; English for all others.
[[nodiscard]] Language language_of(std::string_view tag) noexcept;

// The language that fits the Accept-Language field of a request best (RFC 9110, 12.5.4):
// "en;q=0.1, ko" is Korean. English if the field is empty or malformed, or names other languages
// only.
[[nodiscard]] Language preferred_language(std::string_view accept_language) noexcept;

}  // namespace leasehold
