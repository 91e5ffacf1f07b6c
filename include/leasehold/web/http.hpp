#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Requests and responses as the web kit sees them, independent of the web framework.
// <leasehold/web/httplib.hpp> and <leasehold/web/beast.hpp> convert the requests and responses of
// cpp-httplib and Boost.Beast.
namespace leasehold::web {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct Request {
    std::string method = "GET";
    std::string target = "/";  // the path and the query, encoded as the client sent them
    Headers headers{};
    std::string body{};
    // Stopped when the client has closed its connection, if the framework can tell. A client that
    // waits for a lock then leaves the line at once.
    std::stop_token client_gone{};

    // The target without the query, still encoded.
    [[nodiscard]] std::string_view path() const;
    // Empty if it was not sent. Names are compared without regard to case.
    [[nodiscard]] std::string_view header(std::string_view name) const;
    [[nodiscard]] std::string_view cookie(std::string_view name) const;
    // A field of the query, decoded; empty if it was not sent.
    [[nodiscard]] std::string query(std::string_view name) const;
};

struct Response {
    int status = 200;
    std::string content_type = "application/json";
    Headers headers{};
    std::string body{};
    // Call it if this response could not be sent, because the client is gone. It releases a lock
    // that the client waited for and was granted, and never learns of. May be empty.
    std::function<void()> if_unsent{};
};

// Which connections a browser sends a cookie on.
enum class CookieFor : std::uint8_t {
    https,     // "Secure"
    any_http,  // also without encryption: for development, and for networks that you trust
};

// "name=value; Path=/; HttpOnly; SameSite=Lax; Secure", for a header Set-Cookie. An empty value
// deletes the cookie. If TLS ends at a proxy in front of your application, the browser still sees
// https, so the default is right.
[[nodiscard]] std::string set_cookie(std::string_view name, std::string_view value,
                                     CookieFor connections = CookieFor::https);

// Whether a browser says that a page of another site sent this request. Refuse it then, unless it
// is a GET: somebody who is signed in here may have been lured there.
[[nodiscard]] bool is_from_another_site(const Request& request);
// Whether the request names one of these hosts, with any port. Refuse it otherwise: another site
// may let its name point to your application, and its pages then count as yours (DNS rebinding).
[[nodiscard]] bool is_for_host(const Request& request, std::span<const std::string> hosts);

// A part of a path or a query, with every character as %XX that could mean something there.
[[nodiscard]] std::string encode_url(std::string_view text);
// The other way round. Nothing if it is not encoded like that, or if it is not UTF-8 or has control
// characters in it.
[[nodiscard]] std::optional<std::string> decode_url(std::string_view text);

// A field of a form that was sent as application/x-www-form-urlencoded, decoded; empty if it was
// not sent or is not well-formed.
[[nodiscard]] std::string form_field(std::string_view form, std::string_view name);

// The text with the characters replaced that mean something in HTML, in an element or between
// double quotes.
[[nodiscard]] std::string escape_html(std::string_view text);

}  // namespace leasehold::web
