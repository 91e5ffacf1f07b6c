#pragma once

#include <functional>
#include <string>

namespace leasehold::server {

// The connection of somebody who waits, on whose executor all of this is called.
class Connection {
public:
    Connection() = default;
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    virtual ~Connection() = default;

    // The address at the other end; of IPv6 the network that one client has for itself.
    [[nodiscard]] virtual std::string peer() const = 0;

    // Calls `gone`, at most once, when the client is seen to be gone.
    virtual void watch(std::function<void()> gone) = 0;
    // Stops that; false where the client is gone.
    [[nodiscard]] virtual bool unwatch() = 0;
};

}  // namespace leasehold::server
