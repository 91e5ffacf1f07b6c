#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <leasehold/store.hpp>

namespace leasehold::etcd {

struct Endpoint {
    std::string host = "127.0.0.1";
    std::uint16_t port = 2379;
};

// An etcd cluster, and where it keeps the leases.
struct Cluster {
    std::vector<Endpoint> endpoints{Endpoint{}};  // its members; one of them is asked at a time
    enum class Transport : std::uint8_t { plain, tls } transport = Transport::plain;
    std::string prefix = "leasehold";  // of all keys, followed by a slash
    std::string user{};                // if etcd demands a user
    std::string password{};
    std::string ca_file{};    // the authorities TLS trusts, instead of the system's
    std::string cert_file{};  // our own certificate, if etcd demands one
    std::string key_file{};   // its key; empty: it is in cert_file
};

// Leases as plain keys of etcd 3.4 or later, through its JSON gateway. Time is kept in a key that
// every process raises by the time that passed on its own `steady` clock, which must not go back.
// The store's time does not advance while no process uses the store. See docs/etcd.md.
[[nodiscard]] std::unique_ptr<Store> open(const Cluster& target, StoreOptions options = {},
                                          std::function<SteadyClock::time_point()> steady = {});

}  // namespace leasehold::etcd
