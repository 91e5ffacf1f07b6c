#pragma once

#include <leasehold/stores/http.hpp>

#include "store_url.hpp"

namespace leasehold {

// The server that http://HOST:PORT or https://HOST names. Throws BadRequest where its token cannot
// be read.
[[nodiscard]] http::Target server_at(const StoreUrl& url);

}  // namespace leasehold
