#pragma once

#include <span>
#include <string_view>

#include <leasehold/errors.hpp>

#include "server/access/scheme.hpp"
#include "server/http/message.hpp"
#include "server/http/problem.hpp"
#include "server/protocol/route.hpp"

namespace leasehold::server {

// A protocol over HTTP: its routes, how its clients authenticate, and how it writes errors. A
// protocol is a folder; nothing outside that folder knows which protocol is spoken. Thread-safe.
class Protocol {
public:
    Protocol() = default;
    Protocol(const Protocol&) = delete;
    Protocol& operator=(const Protocol&) = delete;
    virtual ~Protocol() = default;

    // The URLs below this path belong to the protocol: "/lfs/". The native protocol has "/", the
    // rest.
    [[nodiscard]] virtual std::string_view prefix() const noexcept = 0;
    // The first route that matches is used.
    [[nodiscard]] virtual std::span<const Route> routes() const noexcept = 0;
    // How clients show their token.
    [[nodiscard]] virtual const Scheme& scheme() const noexcept = 0;
    // The header fields that pages of other origins may send, as a CORS preflight lists them.
    [[nodiscard]] virtual std::string_view cors_fields() const noexcept = 0;
    // Throws Refused if the protocol does not take a body of the request's Content-Type.
    virtual void check_body_type(const HttpRequest& request) const = 0;

    // The reply to a request that is refused, for a client that prefers this language.
    [[nodiscard]] virtual Reply error(const Problem& problem, Language preferred) const = 0;
    // The reply to a request whose handler threw this.
    [[nodiscard]] virtual Reply error(const StoreFault& fault) const = 0;
    // The reply to a request that met a lack of memory, with this effect. Needs no memory: all its
    // texts are static.
    [[nodiscard]] virtual Reply without_memory(StoreFault::Effect effect) const noexcept = 0;
};

}  // namespace leasehold::server
