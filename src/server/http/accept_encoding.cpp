#include "server/http/accept_encoding.hpp"

#include <algorithm>
#include <cctype>
#include <optional>

#include "core/text.hpp"

namespace leasehold::server {
namespace {

// Cuts the text before the separator off, and returns it without the spaces around it.
std::string_view next(std::string_view& text, char separator) noexcept {
    const std::size_t end = std::min(text.find(separator), text.size());
    const std::string_view part = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    return part;
}

bool is(std::string_view text, std::string_view lower_case) noexcept {
    return std::ranges::equal(
        text, lower_case, [](unsigned char a, unsigned char b) { return std::tolower(a) == b; });
}

bool is_digit(char c) noexcept {
    return c >= '0' && c <= '9';
}

// "0.5" is 500: a weight has at most three decimals. Nothing for a text that is not a weight.
std::optional<int> weight(std::string_view text) noexcept {
    if (text.empty() || text.size() > 5 || (text[0] != '0' && text[0] != '1')) return std::nullopt;
    if (text.size() > 1 && text[1] != '.') return std::nullopt;
    int thousandths = (text[0] - '0') * 1000;
    int place = 100;
    for (const char c : text.substr(std::min<std::size_t>(2, text.size()))) {
        if (!is_digit(c)) return std::nullopt;
        thousandths += (c - '0') * place;
        place /= 10;
    }
    return thousandths <= 1000 ? std::optional{thousandths} : std::nullopt;
}

}  // namespace

bool prefers_gzip(std::string_view accept_encoding) noexcept {
    std::optional<int> gzip;
    std::optional<int> identity;
    std::optional<int> any;
    while (!accept_encoding.empty()) {
        std::string_view item = next(accept_encoding, ',');
        const std::string_view coding = next(item, ';');
        std::optional<int> wanted = 1000;
        if (!item.empty()) {
            wanted = is(next(item, '='), "q") ? weight(trimmed(item)) : std::nullopt;
        }
        if (!wanted) continue;
        if (is(coding, "gzip") || is(coding, "x-gzip")) gzip = wanted;
        if (is(coding, "identity")) identity = wanted;
        if (coding == "*") any = wanted;
    }
    const int of_gzip = gzip.value_or(any.value_or(0));
    // A client that does not mention "identity" accepts it, but less than what it mentions.
    const int of_identity = identity.value_or(0);
    return of_gzip > 0 && of_gzip >= of_identity;
}

}  // namespace leasehold::server
