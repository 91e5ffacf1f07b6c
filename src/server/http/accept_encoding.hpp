#pragma once

#include <string_view>

namespace leasehold::server {

// Whether a client that sent this Accept-Encoding field is best answered with gzip (RFC 9110,
// 12.5.3). A client that sent none, or one that cannot be read, is answered without compression.
[[nodiscard]] bool prefers_gzip(std::string_view accept_encoding) noexcept;

}  // namespace leasehold::server
