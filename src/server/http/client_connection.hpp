#pragma once

#include <functional>
#include <memory>
#include <string>

namespace leasehold::server {

// The connection that a request came by, as the parts that answer requests see it. Every function
// is called on the executor of the connection.
class ClientConnection {
public:
    ClientConnection() = default;
    ClientConnection(const ClientConnection&) = delete;
    ClientConnection& operator=(const ClientConnection&) = delete;
    virtual ~ClientConnection() = default;

    // The client's address. For IPv6 it is the /64 network, which belongs to one client.
    [[nodiscard]] virtual std::string peer() const = 0;

    // Whether identified() was called.
    [[nodiscard]] virtual bool is_known() const noexcept = 0;
    // The client has shown a valid token, or the server has no tokens. Keeps `place`, in the quota
    // of that token, until the connection ends.
    virtual void identified(std::shared_ptr<void> place) = 0;

    // Calls `gone`, at most once, when the client closes the connection.
    virtual void watch(std::function<void()> gone) = 0;
    // Stops watching. False if the client has closed the connection.
    [[nodiscard]] virtual bool unwatch() = 0;
};

}  // namespace leasehold::server
