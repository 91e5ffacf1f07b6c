#include <leasehold/open_store.hpp>

#include <leasehold/stores/memory.hpp>
#ifdef LEASEHOLD_WITH_SQLITE
#include <leasehold/stores/sqlite.hpp>
#endif
#ifdef LEASEHOLD_WITH_POSTGRES
#include <leasehold/stores/postgres.hpp>
#endif
#ifdef LEASEHOLD_WITH_MARIADB
#include <leasehold/stores/mariadb.hpp>
#endif

#ifdef LEASEHOLD_WITH_HTTP
#include <leasehold/stores/http.hpp>
#endif

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "store_url.hpp"

namespace leasehold {
namespace {

[[noreturn]] void refuse_scheme(const std::string& scheme) {
    std::string known = "memory:";
#ifdef LEASEHOLD_WITH_SQLITE
    known += ", sqlite:path";
#endif
#ifdef LEASEHOLD_WITH_POSTGRES
    known += ", postgres://user@host/database";
#endif
#ifdef LEASEHOLD_WITH_MARIADB
    known += ", mariadb://user@host/database";
#endif
#ifdef LEASEHOLD_WITH_HTTP
    known += ", http://host:port, https://host";
#endif
    throw BadRequest{"no store for '" + scheme + ":'; this build has " + known};
}

#ifdef LEASEHOLD_WITH_HTTP
// The token stands in a file or in the environment, never in a URL that is written down somewhere.
std::string read_token(const std::string& file) {
    if (file.empty()) {
        const char* token = std::getenv("LEASEHOLD_TOKEN");
        return token != nullptr ? token : "";
    }
    std::ifstream in{file};
    std::string token;
    if (!std::getline(in, token)) throw BadRequest{"the token file cannot be read: " + file};
    if (token.ends_with('\r')) token.pop_back();
    const auto is_visible = [](char c) { return c > 0x20 && c < 0x7F; };
    if (token.empty() || !std::ranges::all_of(token, is_visible)) {
        throw BadRequest{"the first line of the token file is no token: " + file};
    }
    return token;
}

http::Target server_at(const StoreUrl& url) {
    const bool tls = url.scheme == "https";
    std::string prefix = url.database();
    while (prefix.ends_with('/')) prefix.pop_back();
    return {.host = url.host(),
            .port = url.port(tls ? 443 : 7470),
            .transport = tls ? http::Target::Transport::tls : http::Target::Transport::plain,
            .prefix = prefix.empty() ? "" : '/' + prefix,
            .token = read_token(url.parameter("token_file")),
            .ca_file = url.parameter("ca_file")};
}
#endif

}  // namespace

std::unique_ptr<Store> open_store(std::string_view text, StoreOptions options) {
    StoreUrl url = StoreUrl::parse(text, options);
    if (url.scheme == "memory") {
        if (!url.is_bare())
            throw BadRequest{"memory: takes nothing but parameters after the colon"};
        return memory::open(url.options);
    }
#ifdef LEASEHOLD_WITH_SQLITE
    if (url.scheme == "sqlite") return sqlite::open(url.path(), url.options);
#endif
#ifdef LEASEHOLD_WITH_POSTGRES
    if (url.scheme == "postgres" || url.scheme == "postgresql") {
        return postgres::open(url.without_our_options(), url.options);
    }
#endif
#ifdef LEASEHOLD_WITH_MARIADB
    if (url.scheme == "mariadb" || url.scheme == "mysql") {
        return mariadb::open({.host = url.host(),
                              .port = url.port(3306),
                              .user = url.user(),
                              .password = url.password(),
                              .database = url.database(),
                              .socket = url.parameter("socket")},
                             url.options);
    }
#endif
#ifdef LEASEHOLD_WITH_HTTP
    if (url.scheme == "http" || url.scheme == "https") {
        return http::open(server_at(url), url.options);
    }
#endif
    refuse_scheme(url.scheme);
}

}  // namespace leasehold
