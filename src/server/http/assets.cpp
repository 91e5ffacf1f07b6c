#include "server/http/assets.hpp"

#include <algorithm>

#include "core/text.hpp"
#include "server/http/accept_encoding.hpp"
#include "server/http/problem.hpp"

namespace leasehold::server {
namespace {

// A page loads files of this server only, does not run text as script, and cannot be framed.
// The body depends on Accept-Encoding.
constexpr std::string_view page_fields =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types leasehold\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Opener-Policy: same-origin\r\n"
    "Vary: Accept-Encoding\r\n";

// Whether one of the client's tags is this one. A tag is weak if a proxy has compressed the file.
bool has_tag(std::string_view tags, std::string_view etag) {
    while (!tags.empty()) {
        const std::size_t comma = tags.find(',');
        std::string_view tag = trimmed(tags.substr(0, comma));
        if (tag.starts_with("W/")) tag.remove_prefix(2);
        if (tag == etag || tag == "*") return true;
        if (comma == std::string_view::npos) return false;
        tags.remove_prefix(comma + 1);
    }
    return false;
}

}  // namespace

Reply asset_reply(std::string_view path, const HttpRequest& request) {
    const auto asset = std::ranges::find(assets, path, &Asset::path);
    if (asset == assets.end()) throw Refused{not_found()};
    const bool compressed = prefers_gzip(request.accept_encoding);
    const Asset::Representation& chosen = compressed ? asset->gzip : asset->plain;
    // The browser asks for each file again on each visit, which costs a 304. After an upgrade no
    // page works with files of two versions.
    Reply reply{.content_type = asset->content_type,
                .cache_control = "no-cache",
                .etag = chosen.etag,
                .fields = std::string{page_fields}};
    if (has_tag(request.if_none_match, chosen.etag)) {
        reply.status = 304;
        return reply;
    }
    if (compressed) reply.fields += "Content-Encoding: gzip\r\n";
    reply.static_body = chosen.body;
    return reply;
}

}  // namespace leasehold::server
