#pragma once

#include <boost/asio/ip/address.hpp>

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

namespace leasehold::server {

// What counts as one client: an IPv4 address, or the first half of an IPv6 one, of which a client
// has all the others.
[[nodiscard]] std::string name_of(const boost::asio::ip::address& address);

// How many connections each client has. Thread-safe.
class Peers {
public:
    // At most so many.
    explicit Peers(std::size_t most) : most_{most} {}

    // A place, which is given back when it is destroyed and does not outlive this. Nothing where
    // the client has them all.
    [[nodiscard]] std::shared_ptr<void> enter(const std::string& name);

private:
    void leave(const std::string& name);

    const std::size_t most_;
    std::mutex mutex_;
    std::unordered_map<std::string, std::size_t> connections_;  // guarded by mutex_
};

}  // namespace leasehold::server
