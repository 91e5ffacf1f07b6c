#include "server/http/accept_encoding.hpp"

#include <algorithm>
#include <optional>

#include "core/text.hpp"
#include "core/weighted_list.hpp"

namespace leasehold::server {
namespace {

bool is(std::string_view text, std::string_view lower_case) noexcept {
    return std::ranges::equal(text, lower_case, {}, lower_letter);
}

}  // namespace

bool prefers_gzip(std::string_view accept_encoding) noexcept {
    std::optional<int> gzip;
    std::optional<int> identity;
    std::optional<int> any;
    while (!accept_encoding.empty()) {
        const auto [coding, wanted] = next_item(accept_encoding);
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
