#pragma once

#include "locks/lock_desk.hpp"
#include "sessions/app_session.hpp"
#include "web/http.hpp"

namespace customers::web {

inline constexpr std::string_view lock_routes_prefix = "/v1/locks/";

// The lock routes of a Leasehold server, as far as a page with leasehold.js needs them, for the
// person who is signed in: try, wait, look, check, renew, release and knock. Whatever the page
// says, the owner is of this session, the key is one of ours, and the time is at most the desk's
// ttl.
[[nodiscard]] Response answer_about_locks(const Request& request, const AppSession& session,
                                          LockDesk& desk);

// A problem document, as the server's.
[[nodiscard]] Response json_problem(int status, std::string_view code, std::string_view detail);

}  // namespace customers::web
