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

    // From now on these are the tokens of a server that has some. From any thread.
    void use(std::shared_ptr<const Tokens> tokens);

    // From now on this is the certificate, for new connections, of a server that has one. From any
    // thread.
    void use(std::shared_ptr<const TlsIdentity> identity);

    // Stops accepting; what is under way is answered first. From any thread, also from a signal
    // handler.
    void stop() noexcept;

private:
    class Parts;
    std::unique_ptr<Parts> parts_;
};

}  // namespace leasehold::server
