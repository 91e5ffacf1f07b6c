#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <leasehold/store.hpp>

namespace leasehold::http {

// Where a Leasehold server answers.
struct Target {
    std::string host = "127.0.0.1";
    std::uint16_t port = 7470;
    enum class Transport : std::uint8_t { plain, tls } transport = Transport::plain;
    std::string prefix{};   // of every path, behind a proxy: "/locks"
    std::string token{};    // sent as a bearer token where it is not empty
    std::string ca_file{};  // whom TLS trusts, instead of the system's certificates
};

// The leases of a server, over one connection. History, retention and clock are the server's: of
// the options only `require` and `io_timeout` count here. Opening asks the server how it is.
[[nodiscard]] std::unique_ptr<Store> open(const Target& target, StoreOptions options = {});

}  // namespace leasehold::http
