#pragma once

#include <boost/asio/ip/address.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "core/keyed_hash.hpp"
#include "server/access/rates.hpp"
#include "server/options.hpp"

namespace leasehold::server {

// The name of the client at this address. One client is an IPv4 address, or an IPv6 network of 64
// bits, because a client can use every address of its network.
[[nodiscard]] std::string name_of(const boost::asio::ip::address& address);

// The client at the other end of a connection. Its address is known as long as the connection is
// served, also after the client has reset it.
struct Peer {
    std::string name;
    std::shared_ptr<void> place{};            // in the count of its connections, see Peers
    std::function<bool()> may_shake_hands{};  // asked when a TLS handshake begins; empty: it may
};

// The most connections without a valid token from this address. 0: no limit.
[[nodiscard]] std::size_t most_strangers_from(const boost::asio::ip::address& address,
                                              const ServerOptions& options);

// Limits what each client does before it has shown a token. Thread-safe.
class Peers {
public:
    // Counts a connection until the returned place is destroyed. The place does not outlive this.
    // nullptr if the client has `most` connections already.
    [[nodiscard]] std::shared_ptr<void> enter(const std::string& name, std::size_t most);

    // Whether the client may begin another TLS handshake now.
    [[nodiscard]] bool may_shake_hands(const std::string& name, const Rate& rate);

private:
    // For how many clients TLS handshakes are counted.
    static constexpr std::size_t known_clients = 10'000;

    struct Place;
    void leave(const std::string& name);

    Buckets handshakes_{known_clients};
    std::mutex mutex_;
    std::unordered_map<std::string, std::size_t, KeyedTextHash> connections_;  // guarded by mutex_
};

}  // namespace leasehold::server
