#pragma once

#include "server/http.hpp"
#include "server/server.hpp"
#include "server/tasks.hpp"

namespace leasehold::server {

// Answers requests: what a URL and a method mean is known here. Shared by all connections;
// thread-safe.
class Service {
public:
    // Both outlive this.
    Service(LockManager& locks, const ServerOptions& options) : locks_{locks}, options_{options} {}

    // Never throws: whatever goes wrong is a reply.
    [[nodiscard]] Task<Reply> answer(HttpRequest& request);

private:
    [[nodiscard]] Task<Reply> route(HttpRequest& request);
    [[nodiscard]] Task<Reply> ready();
    [[nodiscard]] Task<Reply> batch(const HttpRequest& request);
    [[nodiscard]] Task<Outcome> ask(Request request);

    LockManager& locks_;
    const ServerOptions& options_;
};

}  // namespace leasehold::server
