#include "web/percent.hpp"

#include <algorithm>
#include <charconv>

namespace leasehold::web {

std::optional<std::string> decode_percent(std::string_view text) {
    std::string decoded;
    while (!text.empty()) {
        if (text.front() != '%') {
            decoded += text.front();
            text.remove_prefix(1);
            continue;
        }
        if (text.size() < 3) return std::nullopt;
        unsigned char byte = 0;
        const char* const end = text.data() + 3;
        if (std::from_chars(text.data() + 1, end, byte, 16).ptr != end) return std::nullopt;
        decoded += static_cast<char>(byte);
        text.remove_prefix(3);
    }
    return decoded;
}

std::optional<std::string> decode_form(std::string_view text) {
    std::string spaced{text};
    std::ranges::replace(spaced, '+', ' ');
    return decode_percent(spaced);
}

}  // namespace leasehold::web
