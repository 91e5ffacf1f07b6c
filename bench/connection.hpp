#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace leasehold::bench {

// A TCP connection to a server of this machine. Every function throws std::runtime_error where it
// is cut.
class Connection {
public:
    // Outgoing ports belong to an address: many thousand connections need several, 127.0.0.n.
    explicit Connection(std::uint16_t port, std::uint8_t from_address = 1);
    Connection(Connection&& other) noexcept;
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    ~Connection();

    [[nodiscard]] int socket() const noexcept { return socket_; }

    // All of it; waits for room.
    void send(std::string_view text) const;
    // Appends what is there; waits where nothing is.
    void receive(std::string& to) const;

private:
    int socket_;
};

}  // namespace leasehold::bench
