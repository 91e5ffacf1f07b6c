#include "stores/postgres/pooler.hpp"

#include <libpq-fe.h>

#include <algorithm>

namespace leasehold::postgres {
namespace {

// Busy clients hide a lent session in about every second round.
constexpr int rounds = 32;
// A session pool without a free session makes a second connection wait.
constexpr std::chrono::seconds patience_with_the_pool{1};

std::string session_of(Conversation& talk) {
    return talk.value_of("select pg_backend_pid()").value_or("");
}

}  // namespace

void refuse_lent_sessions() {
    throw StoreFault{
        StoreFault::Effect::none, StoreFault::Cause::configuration,
        "postgres: the connection goes through a pooler that lends a server session for one "
        "transaction or one statement only. Leasehold needs one session for each process: in "
        "PgBouncer give it a database entry with pool_mode=session, or connect to PostgreSQL "
        "directly. Your application's own connections, and the guard in them, may use "
        "pool_mode=transaction"};
}

std::optional<std::string> require_own_session(
    Conversation& talk, const std::function<ConnectionHandle()>& connect_again, Duration timeout) {
    const std::string ours = session_of(talk);
    if (ours == std::to_string(PQbackendPID(talk.connection()))) return std::nullopt;
    try {
        const ConnectionHandle second = connect_again();
        Conversation other{second.get(), std::min<Duration>(timeout, patience_with_the_pool)};
        for (int round = 0; round < rounds; ++round) {
            other.execute("begin");
            bool lent = session_of(other) == ours || session_of(talk) != ours;
            other.execute("rollback");
            lent = lent || session_of(talk) != ours;
            if (lent) refuse_lent_sessions();
        }
        return std::nullopt;
    } catch (const StoreFault& fault) {
        // PgBouncer answers a `begin` so, and ends the connection.
        if (std::string_view{fault.what()}.contains("statement pooling")) refuse_lent_sessions();
        if (fault.cause() != StoreFault::Cause::unavailable) throw;
        return "a pooler is in between, and whether it gives each connection a session of its own "
               "could not be tested: it had no second session free";
    }
}

}  // namespace leasehold::postgres
