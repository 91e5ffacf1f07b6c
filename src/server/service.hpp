#pragma once

#include "server/http.hpp"
#include "server/server.hpp"
#include "server/store_door.hpp"
#include "server/target.hpp"
#include "server/tasks.hpp"

namespace leasehold::server {

// Answers requests: what a URL and a method mean is known here. Shared by all connections;
// thread-safe.
class Service {
public:
    // Both outlive this.
    Service(LockManager& locks, const ServerOptions& options)
        : locks_{locks}, options_{options}, door_{locks, options} {}

    // Never throws: whatever goes wrong is a reply.
    [[nodiscard]] Task<Reply> answer(HttpRequest& request);

private:
    // Picks the function for it. Throws what answer() catches.
    [[nodiscard]] Task<Reply> perform(HttpRequest& request, const Target& target);
    [[nodiscard]] static Task<Reply> at_once(Reply reply);

    [[nodiscard]] Task<Reply> ready();
    [[nodiscard]] Task<Reply> batch(const HttpRequest& request);

    // lock_routes.cpp
    [[nodiscard]] Task<Reply> try_lock(const HttpRequest& request, const Target& target);
    [[nodiscard]] Task<Reply> look(const HttpRequest& request, const Target& target);
    [[nodiscard]] Task<Reply> prolong(const HttpRequest& request, const Target& target);
    [[nodiscard]] Task<Reply> release(const HttpRequest& request, const Target& target);
    [[nodiscard]] Task<Reply> break_lock(const HttpRequest& request, const Target& target);
    [[nodiscard]] Task<Reply> list(const Target& target);
    [[nodiscard]] Task<Reply> release_all(const Target& target);
    [[nodiscard]] Task<Reply> history(const Target& target);

    LockManager& locks_;
    const ServerOptions& options_;
    StoreDoor door_;
};

}  // namespace leasehold::server
