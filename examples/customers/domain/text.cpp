#include "domain/text.hpp"

#include <algorithm>

namespace customers {
namespace {

bool continues(char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

}  // namespace

std::size_t length_of(std::string_view text) {
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char c) { return !continues(c); }));
}

std::string tidy(std::string_view text) {
    constexpr std::string_view blank = " \t\r\n";
    const std::size_t begin = text.find_first_not_of(blank);
    if (begin == std::string_view::npos) return {};
    std::string tidied{text.substr(begin, text.find_last_not_of(blank) + 1 - begin)};
    std::erase(tidied, '\r');
    return tidied;
}

}  // namespace customers
