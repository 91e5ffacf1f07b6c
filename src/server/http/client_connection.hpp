#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace leasehold::server {

// A certificate by which TLS has authenticated a client.
struct ClientCertificate {
    // "CN=shop" of the subject, then the alternative names: "DNS:shop.example",
    // "URI:spiffe://shop/till", "email:till@shop.example"
    std::vector<std::string> names{};
    std::chrono::sys_seconds valid_until{};
};

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

    // The client's certificate; nullptr if it showed none.
    [[nodiscard]] virtual const ClientCertificate* certificate() const { return nullptr; }

    // Calls `gone`, at most once, when the client closes the connection.
    virtual void watch(std::function<void()> gone) = 0;
    // Stops watching. False if the client has closed the connection.
    [[nodiscard]] virtual bool unwatch() = 0;
};

}  // namespace leasehold::server
