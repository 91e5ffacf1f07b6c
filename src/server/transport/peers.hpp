#pragma once

#include <boost/asio/ip/address.hpp>

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

namespace leasehold::server {

// The name of the client at this address. One client is an IPv4 address, or an IPv6 network of 64
// bits, because a client can use every address of its network.
[[nodiscard]] std::string name_of(const boost::asio::ip::address& address);

// Limits how many connections each client has. Thread-safe.
class Peers {
public:
    // `most` connections at once for each client.
    explicit Peers(std::size_t most) : most_{most} {}

    // Counts a connection until the returned place is destroyed. The place does not outlive this.
    // nullptr if the client has `most` connections already.
    [[nodiscard]] std::shared_ptr<void> enter(const std::string& name);

private:
    void leave(const std::string& name);

    const std::size_t most_;
    std::mutex mutex_;
    std::unordered_map<std::string, std::size_t> connections_;  // guarded by mutex_
};

}  // namespace leasehold::server
