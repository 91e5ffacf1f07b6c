#pragma once

#include <cstddef>
#include <string>

namespace leasehold::server {

// A connection keeps the memory of each of its texts up to this size for the next request. There
// are many connections with several texts each, and most of them are idle.
constexpr std::size_t kept_text_bytes = 1024;

// Empties the text, and frees its memory unless it is small.
inline void empty_for_reuse(std::string& text) noexcept {
    if (text.capacity() > kept_text_bytes) {
        std::string{}.swap(text);
    } else {
        text.clear();
    }
}

}  // namespace leasehold::server
