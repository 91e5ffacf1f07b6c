#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "stores/postgres/connection.hpp"
#include "stores/postgres/schema.hpp"

namespace leasehold::postgres {

// Finds out whether a pooler, such as PgBouncer, gives this connection a server session of its own.
// The store needs its own session, because it sets session variables and prepares statements.
//   1. Without a pooler, the server's process has the number that it sent at the connect.
//   2. With one, another connection begins a transaction. If it gets our server session, or if our
//      next statement runs in another session, then sessions are lent for one transaction only.
//      Throws StoreFault, and names the setting to change.
//   3. The other connection ends its transaction, and our next statement is looked at again: a
//      pooler that lends the session that was returned last now lends the other one.
//   4. Other clients of the pooler can hide that, so steps 2 and 3 are repeated.
// Changes nothing in any session. Returns a warning if there is a pooler and no second connection
// to be had from it.
[[nodiscard]] std::optional<std::string> require_own_session(
    Conversation& talk, const std::function<ConnectionHandle()>& connect_again, Duration timeout);

// Throws the StoreFault that names the pooler's setting.
[[noreturn]] void refuse_lent_sessions();

}  // namespace leasehold::postgres
