#include "server/http/assets.hpp"

#include <algorithm>
#include <utility>

#include "core/text.hpp"
#include "server/http/accept_encoding.hpp"
#include "server/http/problem.hpp"

namespace leasehold::server {
namespace {

// A page loads files of this server only, does not run text as script, and cannot be framed.
constexpr std::string_view page_policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types leasehold";

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

Reply file_reply(const Asset::Representation& file, Encoding encoding,
                 std::string_view content_type, std::string_view policy,
                 const HttpRequest& request) {
    std::string fields = "Content-Security-Policy: ";
    fields.append(policy).append(
        "\r\n"
        "Referrer-Policy: no-referrer\r\n"
        "Cross-Origin-Opener-Policy: same-origin\r\n"
        "Vary: Accept-Encoding\r\n");
    // The browser asks for each file again on each visit, which costs a 304. After an upgrade no
    // page works with files of two versions.
    Reply reply{.content_type = content_type,
                .cache_control = "no-cache",
                .etag = file.etag,
                .fields = std::move(fields)};
    if (has_tag(request.if_none_match, file.etag)) {
        reply.status = 304;
        return reply;
    }
    if (encoding == Encoding::gzip) reply.fields += "Content-Encoding: gzip\r\n";
    reply.static_body = file.body;
    return reply;
}

Reply asset_reply(std::string_view path, const HttpRequest& request) {
    const auto asset = std::ranges::find(assets, path, &Asset::path);
    if (asset == assets.end()) throw Refused{not_found()};
    const auto [file, encoding] = prefers_gzip(request.accept_encoding)
                                      ? std::pair{asset->gzip, Encoding::gzip}
                                      : std::pair{asset->plain, Encoding::none};
    return file_reply(file, encoding, asset->content_type, page_policy, request);
}

}  // namespace leasehold::server
