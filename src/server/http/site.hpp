#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "server/http/message.hpp"
#include "server/http/problem.hpp"
#include "server/options.hpp"

// Checks the Host and Origin fields, which keeps web pages that a user visits from sending requests
// to a server on the user's own machine.
namespace leasehold::server {

// The host of a Host field: without its port and brackets, in lower case.
[[nodiscard]] std::string host_in(std::string_view field);

// localhost, or a loopback address.
[[nodiscard]] bool is_loopback(std::string_view host);

// Why the request is refused. Nothing if it may pass.
[[nodiscard]] std::optional<Problem> site_refusal(const HttpRequest& request,
                                                  const ServerOptions& options);

// Whether a browser asks for permission, on behalf of a page that has it, to send a request.
[[nodiscard]] bool is_preflight(const HttpRequest& request, const ServerOptions& options);
// Grants it for these methods and request fields, each a comma-separated list.
[[nodiscard]] Reply preflight_reply(std::string_view methods, std::string_view fields);

// Adds the fields that allow a browser to hand the reply to the page.
void permit_origin(Reply& reply, const HttpRequest& request, const ServerOptions& options);

// The header field of every reply on a connection with TLS: a browser that has reached this host
// once with TLS sends nothing without TLS. Empty if that is switched off.
[[nodiscard]] std::string strict_transport(const ServerOptions& options);

}  // namespace leasehold::server
