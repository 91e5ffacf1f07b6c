#pragma once

#include <string_view>

#include <boost/json/object.hpp>

#include "server/access/audit.hpp"
#include "server/http/client_connection.hpp"
#include "server/http/message.hpp"
#include "server/requests.hpp"

// What the audit records of requests.
namespace leasehold::server {

struct Token;

// Whether the request may end leases that its client does not hold, or forget what is known of
// them: break, release_all and purge.
[[nodiscard]] bool is_audited(const Request& request) noexcept;
// "done", "refused", "failed"; "unknown" for a fault after which the store may have acted.
[[nodiscard]] std::string_view outcome_name(const Outcome& outcome) noexcept;
// Whether leases ended or were forgotten, or may have been: the effect of a fault can be unknown.
[[nodiscard]] bool changed_leases(const Outcome& outcome) noexcept;
// Whether it needs the role of an administrator: a break, a purge, or a release of leases that
// other tokens have taken. The request is signed with the token; nullptr on a server without
// tokens.
[[nodiscard]] bool is_by_administrator(const Request& request, const Token* token) noexcept;
// The key, the owner and the reason that the request names, and what it ended.
[[nodiscard]] boost::json::object facts_of(const Request& request, const Outcome& outcome);

// An event that this client caused. Gives the request a name, unless it has one.
[[nodiscard]] AuditEvent event_of(std::string_view action, std::string_view outcome,
                                  HttpRequest& request, const ClientConnection& connection,
                                  Audit& audit);

}  // namespace leasehold::server
