#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
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
    std::string ca_file{};    // the authorities TLS trusts, instead of the system's
    std::string cert_file{};  // our own certificate, if the server demands one
    std::string key_file{};
};

enum class Method : std::uint8_t { get, post };

struct Header {
    std::string name{};
    std::string value{};
};

struct Message {
    Method method = Method::get;
    std::string path{};
    std::string body{};
    std::vector<Header> headers{};
    StoreFault::Effect effect_once_sent = StoreFault::Effect::none;
};

struct Response {
    unsigned status = 0;
    std::string body{};
};

// One connection to a server, made when it is needed and kept. Every call ends by its deadline.
// Not thread-safe.
class HttpConnection {
public:
    using Moment = std::chrono::steady_clock::time_point;

    explicit HttpConnection(Peer peer);
    HttpConnection(const HttpConnection&) = delete;
    HttpConnection& operator=(const HttpConnection&) = delete;
    ~HttpConnection();

    struct Deadlines {
        Moment connected;
        Moment answered;
        std::stop_token ended{};  // stopped when the caller no longer wants the answer
    };
    // Throws StoreFault with no effect if the message was not sent, otherwise with the message's
    // `effect_once_sent`.
    [[nodiscard]] Response exchange(const Message& message, const Deadlines& deadlines);

    // Sends a message whose answer is read line by line, as it comes. Returns its status. Throws
    // StoreFault, also when `ended` is stopped.
    [[nodiscard]] unsigned open_stream(const Message& message, const Deadlines& deadlines);
    // The next line of that answer. Nothing if none came by the deadline. Throws StoreFault if the
    // answer or the connection has ended, and when `ended` is stopped.
    [[nodiscard]] std::optional<std::string> next_line(const Deadlines& deadlines);

    // "host:port"
    [[nodiscard]] const std::string& server() const { return server_; }

private:
    class Link;

    void link(Moment deadline);

    const Peer peer_;
    const std::string server_;
    const std::string name_;  // in faults
    Lookup lookup_;
    std::unique_ptr<Link> link_;
};

}  // namespace leasehold::net
