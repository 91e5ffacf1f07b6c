#include "server_url.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include <leasehold/errors.hpp>

namespace leasehold {
namespace {

std::string variable(const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr ? value : "";
}

// The token goes into a header.
void require_visible(const std::string& token, const std::string& where) {
    const auto is_visible = [](char c) { return c > 0x20 && c < 0x7F; };
    if (!std::ranges::all_of(token, is_visible)) {
        throw BadRequest{where +
                         " is no token: a token has visible ASCII characters and no spaces"};
    }
}

// The token comes from a file or the environment, never from a URL, which may be logged.
std::string read_token(std::string file) {
    if (file.empty()) file = variable("LEASEHOLD_TOKEN_FILE");
    if (file.empty()) {
        std::string token = variable("LEASEHOLD_TOKEN");
        require_visible(token, "what the variable LEASEHOLD_TOKEN holds");
        return token;
    }
    std::ifstream in{file};
    std::string token;
    if (!std::getline(in, token)) throw BadRequest{"the token file cannot be read: " + file};
    if (token.ends_with('\r')) token.pop_back();
    if (token.empty()) throw BadRequest{"the first line of the token file is empty: " + file};
    require_visible(token, "the first line of the token file " + file);
    return token;
}

}  // namespace

http::ServerAddress server_at(const StoreUrl& url) {
    const bool tls = url.scheme == "https";
    std::string prefix = url.database();
    while (prefix.ends_with('/')) prefix.pop_back();
    return {.host = url.host(),
            .port = url.port(tls ? 443 : 7470),
            .transport =
                tls ? http::ServerAddress::Transport::tls : http::ServerAddress::Transport::plain,
            .prefix = prefix.empty() ? "" : '/' + prefix,
            .token = read_token(url.parameter("token_file")),
            .ca_file = url.parameter("ca_file")};
}

std::string token_source(const StoreUrl& url) {
    const std::string file = url.parameter("token_file");
    if (!file.empty()) return "token_file in the store's URL (" + file + ")";
    const std::string named = variable("LEASEHOLD_TOKEN_FILE");
    if (!named.empty()) return "LEASEHOLD_TOKEN_FILE (" + named + ")";
    return variable("LEASEHOLD_TOKEN").empty() ? "" : "LEASEHOLD_TOKEN";
}

}  // namespace leasehold
