#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <leasehold/store.hpp>

namespace leasehold::http {

// Where a Leasehold server answers.
struct ServerAddress {
    std::string host = "127.0.0.1";
    std::uint16_t port = 7470;
    enum class Transport : std::uint8_t { plain, tls } transport = Transport::plain;
    std::string prefix{};   // of every path, behind a proxy: "/locks"
    std::string token{};    // if not empty: sent as a bearer token
    std::string ca_file{};  // the authorities TLS trusts, instead of the system's
    // PEM files: the certificate that we show, if not empty, and its key. Without a key file the
    // key is in the certificate's file.
    std::string cert_file{};
    std::string key_file{};
};

// The leases of a server, over one connection. The server decides history, retention and clock: of
// the options only `require` and `io_timeout` are used. Opening asks the server for its state.
[[nodiscard]] std::unique_ptr<Store> open(const ServerAddress& target, StoreOptions options = {});

}  // namespace leasehold::http
