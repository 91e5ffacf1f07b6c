#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <leasehold/errors.hpp>
#include <leasehold/time.hpp>

#include "net/lookup.hpp"

// HTTP as the stores speak it to servers.
namespace leasehold::net {

enum class Transport : std::uint8_t { plain, tls };

struct Peer {
    std::string what{};  // how faults name it: "the Leasehold server"
    std::string host{};
    std::uint16_t port = 0;
    Transport transport = Transport::plain;
    std::string ca_file{};    // whom TLS trusts, instead of the system's certificates
    std::string cert_file{};  // who we are, where the server asks
    std::string key_file{};
};

enum class Method : std::uint8_t { get, post };

struct Message {
    Method method = Method::get;
    std::string path{};
    std::string body{};
    std::string authorization{};  // the header's value; empty: none
    StoreFault::Effect effect_once_sent = StoreFault::Effect::none;
};

struct Response {
    unsigned status = 0;
    std::string body{};
};

// One connection to a server, made when it is needed and kept. Every call ends by its deadline.
// Not thread-safe.
class Connection {
public:
    using Moment = std::chrono::steady_clock::time_point;

    explicit Connection(Peer peer);
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    ~Connection();

    // Throws StoreFault: with no effect where the message was not sent, with its
    // `effect_once_sent` otherwise.
    struct Deadlines {
        Moment connected;
        Moment answered;
    };
    [[nodiscard]] Response exchange(const Message& message, const Deadlines& deadlines);

    // "host:port"
    [[nodiscard]] const std::string& server() const { return server_; }

private:
    class Link;

    const Peer peer_;
    const std::string server_;
    const std::string name_;  // in faults
    Lookup lookup_;
    std::unique_ptr<Link> link_;
};

}  // namespace leasehold::net
