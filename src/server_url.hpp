#pragma once

#include <leasehold/stores/http.hpp>

#include "core/secret_file.hpp"
#include "store_url.hpp"

namespace leasehold {

// The server that http://HOST:PORT or https://HOST names. Throws BadRequest if its token cannot
// be read.
[[nodiscard]] http::ServerAddress server_at(const StoreUrl& url);

// Where the token for that server is read from: "LEASEHOLD_TOKEN_FILE (/run/token)". Empty where no
// token is given.
[[nodiscard]] std::string token_source(const StoreUrl& url);

// The files with secrets that a client of this store reads or writes: a database, a token, a key.
[[nodiscard]] std::vector<NamedFile> secret_files_of(const StoreUrl& url);

}  // namespace leasehold
