#include "server_url.hpp"

#include <algorithm>
#include <cstdlib>

#include <leasehold/errors.hpp>

#include "core/secret_file.hpp"
#include "wire/url.hpp"

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
                         " is not a token: a token has visible ASCII characters and no spaces"};
    }
}

constexpr std::size_t most_token_bytes = 64 << 10;

// The token comes from a file or the environment, never from a URL, which may be logged.
std::string read_token(std::string file) {
    if (file.empty()) file = variable("LEASEHOLD_TOKEN_FILE");
    if (file.empty()) {
        std::string token = variable("LEASEHOLD_TOKEN");
        require_visible(token, "what the variable LEASEHOLD_TOKEN holds");
        return token;
    }
    if (file.starts_with("lh_") && !file.contains('/')) {
        throw BadRequest{
            "the name of the token file begins with lh_, as tokens do: LEASEHOLD_TOKEN takes a "
            "token; LEASEHOLD_TOKEN_FILE and ?token_file= take the name of a file"};
    }
    const auto content = read_regular_file(file, most_token_bytes);
    if (!content) {
        throw BadRequest{"the token file '" + file + "' cannot be read: " + content.error()};
    }
    std::string token = content->substr(0, content->find('\n'));
    if (token.ends_with('\r')) token.pop_back();
    if (token.empty()) throw BadRequest{"the first line of the token file is empty: " + file};
    require_visible(token, "the first line of the token file " + file);
    return token;
}

// The path before /v1/..., encoded as it is sent.
std::string path_prefix(const StoreUrl& url) {
    std::string prefix;
    std::string rest = url.database();
    while (rest.ends_with('/')) rest.pop_back();
    for (std::size_t begin = 0; begin < rest.size();) {
        const std::size_t end = std::min(rest.find('/', begin), rest.size());
        prefix += '/';
        wire::append_encoded(prefix, std::string_view{rest}.substr(begin, end - begin));
        begin = end + 1;
    }
    return prefix;
}

}  // namespace

http::ServerAddress server_at(const StoreUrl& url) {
    const bool tls = url.scheme == "https";
    const bool shows_certificate =
        !url.parameter("cert_file").empty() || !url.parameter("key_file").empty();
    if (!tls && shows_certificate) {
        throw BadRequest{"cert_file and key_file need TLS: use a URL that begins with https://"};
    }
    if (url.names_a_user()) {
        throw BadRequest{
            "a server's URL takes no user and no password; LEASEHOLD_TOKEN_FILE or ?token_file= "
            "names the file with the token"};
    }
    return {.host = url.host(),
            .port = url.port(tls ? 443 : 7470),
            .transport =
                tls ? http::ServerAddress::Transport::tls : http::ServerAddress::Transport::plain,
            .prefix = path_prefix(url),
            .token = read_token(url.parameter("token_file")),
            .ca_file = url.parameter("ca_file"),
            .cert_file = url.parameter("cert_file"),
            .key_file = url.parameter("key_file")};
}

std::string token_source(const StoreUrl& url) {
    const std::string file = url.parameter("token_file");
    if (!file.empty()) return "token_file in the store's URL (" + file + ")";
    const std::string named = variable("LEASEHOLD_TOKEN_FILE");
    if (!named.empty()) return "LEASEHOLD_TOKEN_FILE (" + named + ")";
    return variable("LEASEHOLD_TOKEN").empty() ? "" : "LEASEHOLD_TOKEN";
}

std::vector<NamedFile> secret_files_of(const StoreUrl& url) {
    if (url.scheme == "sqlite") return {{"the database", url.path()}};
    if (url.scheme == "etcd") return {{"the key", url.parameter("key_file")}};
    if (url.scheme != "http" && url.scheme != "https") return {};
    const std::string file = url.parameter("token_file");
    return {{"the token file", file.empty() ? variable("LEASEHOLD_TOKEN_FILE") : file},
            {"the key", url.parameter("key_file")}};
}

}  // namespace leasehold
