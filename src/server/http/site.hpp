#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "server/http/message.hpp"
#include "server/options.hpp"

// Where a request says it is going and where it says it comes from: what keeps the web pages that
// somebody visits away from a server on the same machine.
namespace leasehold::server {

// The host of a Host field: without its port and brackets, in lower case.
[[nodiscard]] std::string host_in(std::string_view field);

// localhost, or an address of this machine that no other machine reaches.
[[nodiscard]] bool is_loopback(std::string_view host);

// Why the request is refused; nothing where it may pass.
[[nodiscard]] std::optional<Reply> site_refusal(const HttpRequest& request,
                                                const ServerOptions& options);

// A browser asks whether a page may make a request. The answer is yes.
[[nodiscard]] bool is_preflight(const HttpRequest& request, const ServerOptions& options);
[[nodiscard]] Reply preflight_reply();

// Adds what a browser wants to see before it hands the answer to a page.
void permit_origin(Reply& reply, const HttpRequest& request, const ServerOptions& options);

}  // namespace leasehold::server
