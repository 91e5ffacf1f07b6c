#include "server/http/site.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <vector>

#include "core/text.hpp"

namespace leasehold::server {
namespace {

bool contains(const std::vector<std::string>& list, std::string_view text) {
    return std::ranges::find(list, text) != list.end();
}

bool is_for_us(const HttpRequest& request, const ServerOptions& options) {
    // Only HTTP/1.0 clients omit the field, and no browser is one.
    if (request.host.empty()) return true;
    const std::string host = host_in(request.host);
    return host == options.address || is_loopback(host) || contains(options.hosts, host);
}

bool only_reads(std::string_view method) {
    return method == "GET" || method == "HEAD";
}

bool is_own_page(const HttpRequest& request) {
    const std::string origin = lower(*request.origin);
    for (const std::string_view scheme : {"http://", "https://"}) {
        if (origin.starts_with(scheme)) return origin.substr(scheme.size()) == lower(request.host);
    }
    return false;
}

}  // namespace

std::string host_in(std::string_view field) {
    const std::size_t bracket = field.starts_with('[') ? field.find(']') : 0;
    if (bracket == std::string_view::npos) return lower(field);
    const std::size_t colon = field.find(':', bracket);
    const std::string_view port = field.substr(std::min(colon, field.size()));
    if (port.find_first_not_of("0123456789", 1) != std::string_view::npos) return lower(field);
    const std::string_view host = field.substr(0, colon);
    const bool bracketed = bracket > 0 && host.size() == bracket + 1;
    return lower(bracketed ? host.substr(1, bracket - 1) : host);
}

bool is_loopback(std::string_view host) {
    if (host == "localhost") return true;
    const std::string text{host};
    in_addr v4{};
    if (::inet_pton(AF_INET, text.c_str(), &v4) == 1) return ntohl(v4.s_addr) >> 24U == 127;
    in6_addr v6{};
    return ::inet_pton(AF_INET6, text.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

std::optional<Problem> site_refusal(const HttpRequest& request, const ServerOptions& options) {
    // DNS rebinding: a page whose name was made to resolve to this machine still sends its own name
    // as the host. Where tokens are needed, such a page has none.
    if (!options.tokens && !is_for_us(request, options)) {
        return Problem{.status = 421,
                       .code = "misdirected",
                       .detail =
                           "this server answers only to localhost and loopback addresses; list "
                           "other names of the server in its setting 'hosts'"};
    }
    if (!request.origin || only_reads(request.method)) return std::nullopt;
    if (contains(options.cors_origins, *request.origin) || is_own_page(request)) {
        return std::nullopt;
    }
    return Problem{.status = 403,
                   .code = "cross_site",
                   .detail =
                       "pages of this origin may not send requests to this server; list origins "
                       "that may in its setting 'cors_origin'"};
}

bool is_preflight(const HttpRequest& request, const ServerOptions& options) {
    return request.method == "OPTIONS" && request.asks_permission && request.origin &&
           contains(options.cors_origins, *request.origin);
}

Reply preflight_reply(std::string_view methods, std::string_view fields) {
    Reply reply{.status = 204};
    reply.fields.append("Access-Control-Allow-Methods: ").append(methods);
    reply.fields.append("\r\nAccess-Control-Allow-Headers: ").append(fields);
    reply.fields.append("\r\nAccess-Control-Max-Age: 600\r\n");
    return reply;
}

void permit_origin(Reply& reply, const HttpRequest& request, const ServerOptions& options) {
    if (options.cors_origins.empty()) return;
    reply.fields += "Vary: Origin\r\n";
    if (!request.origin || !contains(options.cors_origins, *request.origin)) return;
    reply.fields += "Access-Control-Allow-Origin: " + *request.origin +
                    "\r\nAccess-Control-Expose-Headers: Retry-After\r\n";
}

std::string strict_transport(const ServerOptions& options) {
    const auto remembered = std::chrono::duration_cast<std::chrono::seconds>(options.hsts);
    if (remembered <= std::chrono::seconds::zero()) return {};
    return "Strict-Transport-Security: max-age=" + std::to_string(remembered.count()) + "\r\n";
}

}  // namespace leasehold::server
