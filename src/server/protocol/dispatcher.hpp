#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/enum_table.hpp"
#include "server/access/access_control.hpp"
#include "server/options.hpp"
#include "server/protocol/backend.hpp"
#include "server/protocol/protocol.hpp"

namespace leasehold::server {

enum class WithTls : std::uint8_t { no, yes };

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

    // The same for a request whose body was admitted and is refused while it arrives. Recorded in
    // the audit like every refusal.
    [[nodiscard]] Reply refusal_of_body(HttpRequest& request, const ClientConnection& connection,
                                        const Problem& problem) const;

    // The whole message, header and body, if the reply to a request cannot be printed for lack of
    // memory; the connection ends with it. The request may have been carried out. Needs no memory.
    [[nodiscard]] std::string_view without_memory(const HttpRequest& request,
                                                  WithTls tls) const noexcept;

    // The large bodies that are being received.
    [[nodiscard]] MemoryBudget& bodies() noexcept { return bodies_; }
    [[nodiscard]] MemoryBudget& unsent_answers() noexcept { return backend_.unsent_answers(); }

private:
    struct Match;

    using Messages = EnumArray<WithTls, std::string>;

    [[nodiscard]] std::size_t index_of_protocol(std::string_view target) const noexcept;
    [[nodiscard]] Protocol& protocol_of(std::string_view target) const noexcept;
    // The method as the log and the metrics name it: as the routes write it, or "other".
    [[nodiscard]] std::string_view label_of_method(std::string_view method) const noexcept;
    // Step 3. Notes the route in the reply, also if the method is wrong.
    [[nodiscard]] static Match find_route(const Protocol& protocol, const HttpRequest& request,
                                          Reply& reply);
    // Records a refused access in the audit, and names the request in its reply.
    void audit(HttpRequest& request, const ClientConnection& connection, Reply& reply) const;
    // Step 4.
    void let_in(HttpRequest& request, const Protocol& protocol, const Route& route,
                ClientConnection& connection);

    const std::vector<std::unique_ptr<Protocol>> protocols_;  // the longest prefix first
    std::vector<Messages> without_memory_;                    // of each protocol
    Backend& backend_;
    const ServerOptions& options_;
    MemoryBudget bodies_;
};

}  // namespace leasehold::server
