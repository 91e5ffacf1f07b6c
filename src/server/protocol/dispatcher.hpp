#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "server/access/access_control.hpp"
#include "server/http/body_budget.hpp"
#include "server/options.hpp"
#include "server/protocol/backend.hpp"
#include "server/protocol/protocol.hpp"

namespace leasehold::server {

// Answers the requests of all connections. Thread-safe. For each request:
//
// 1. The protocol with the longest prefix of the URL's path answers it, also with errors.
// 2. The Host and Origin fields are checked (421, 403).
// 3. The protocol's first route with this path and method is taken (404, 405).
// 4. The client is identified; its role and its rate are checked (401, 403, 429).
// 5. The query's names and the body's presence are checked (400).
// 6. The route's handler makes the reply.
//
// If the body is large, steps 2 to 4 and the check of its media type (415) happen before it is
// read.
class Dispatcher {
public:
    // `backend` and `options` outlive this. One of the protocols has the prefix "/".
    Dispatcher(std::vector<std::unique_ptr<Protocol>> protocols, Backend& backend,
               const ServerOptions& options);

    // Never throws.
    [[nodiscard]] Task<Reply> answer(HttpRequest& request, ClientConnection& connection);

    // The refusal of a request whose header has been received and whose body, of that length if it
    // is known, has not. Nothing if the body is to be read.
    [[nodiscard]] std::optional<Reply> refusal_before_body(std::optional<std::uint64_t> body_bytes,
                                                           HttpRequest& request,
                                                           ClientConnection& connection);

    // The reply to a request that is refused before it reaches a route. The request may be
    // incomplete.
    [[nodiscard]] Reply error(const HttpRequest& request, const Problem& problem) const;

    [[nodiscard]] BodyBudget& bodies() noexcept { return bodies_; }
    [[nodiscard]] AnswerBudget& unsent_answers() noexcept { return backend_.unsent_answers(); }

private:
    struct Match;

    [[nodiscard]] Protocol& protocol_of(std::string_view target) const;
    // Step 3. Notes the route in the reply, and the path even if the method is wrong.
    [[nodiscard]] Match find_route(const Protocol& protocol, const HttpRequest& request,
                                   Reply& reply) const;
    // Records a refused access in the audit, and names the request in its reply.
    void audit(HttpRequest& request, const ClientConnection& connection, Reply& reply) const;
    // Step 4.
    void let_in(HttpRequest& request, const Protocol& protocol, const Route& route,
                ClientConnection& connection);

    const std::vector<std::unique_ptr<Protocol>> protocols_;  // the longest prefix first
    Backend& backend_;
    const ServerOptions& options_;
    BodyBudget bodies_;
};

}  // namespace leasehold::server
