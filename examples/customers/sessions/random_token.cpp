#include "sessions/random_token.hpp"

#include <sys/random.h>

#include <stdexcept>

namespace customers {

std::string random_token(std::size_t bytes) {
    std::string raw(bytes, '\0');
    if (getrandom(raw.data(), raw.size(), 0) != static_cast<ssize_t>(bytes)) {
        throw std::runtime_error{"the operating system gave no random bytes"};
    }
    constexpr std::string_view digits = "0123456789abcdef";
    std::string token;
    for (const char c : raw) {
        const auto byte = static_cast<unsigned char>(c);
        token += digits[byte >> 4U];
        token += digits[byte & 0xFU];
    }
    return token;
}

bool is_same_secret(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return false;
    unsigned difference = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
    }
    return difference == 0;
}

}  // namespace customers
