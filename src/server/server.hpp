#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <leasehold/lock_manager.hpp>
#include <leasehold/store.hpp>

#include "server/options.hpp"

namespace leasehold::server {

class TlsIdentity;
class Tokens;

// Leasehold over HTTP. Listens from its construction on, answers while run() runs.
class Server {
public:
    // `locks` outlives this. Throws std::system_error if it cannot listen on the address, and
    // BadRequest if a server without tokens is given an address that is not loopback.
    Server(LockManager& locks, ServerOptions options);
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;
    ~Server();

    [[nodiscard]] std::uint16_t port() const noexcept;

    // How many are connected now, how many of them wait for a key, and how many listen to events.
    [[nodiscard]] std::size_t connections() const noexcept;
    [[nodiscard]] std::size_t waiting() const noexcept;
    [[nodiscard]] std::size_t listening() const;

    // Serves until stop() was called and everything under way has been answered. Call it once.
    // Throws std::system_error if a thread cannot be started.
    void run();

    // Replaces the tokens. The server was started with tokens. Thread-safe.
    void use(std::shared_ptr<const Tokens> tokens);

    // Replaces the certificate for new connections. The server was started with one. Clients that
    // were authenticated by a certificate must connect anew. Thread-safe.
    void use(std::shared_ptr<const TlsIdentity> identity);

    // Stops accepting connections; requests under way are answered first. May be called from any
    // thread and from a signal handler.
    void stop() noexcept;

private:
    class Parts;
    std::unique_ptr<Parts> parts_;
};

}  // namespace leasehold::server
