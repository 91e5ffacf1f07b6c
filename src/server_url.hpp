#pragma once

#include <leasehold/stores/http.hpp>

#include "store_url.hpp"

namespace leasehold {

// The server that http://HOST:PORT or https://HOST names. Throws BadRequest if its token cannot
// be read.
[[nodiscard]] http::ServerAddress server_at(const StoreUrl& url);

// Where the token for that server is read from: "LEASEHOLD_TOKEN_FILE (/run/token)". Empty where no
// token is given.
[[nodiscard]] std::string token_source(const StoreUrl& url);

}  // namespace leasehold
