#pragma once

#include <chrono>
#include <memory>
#include <string>

#include <leasehold/errors.hpp>
#include <leasehold/stores/http.hpp>

namespace leasehold::http {

struct Response {
    unsigned status = 0;
    std::string body{};
};

// One connection to a server, made when it is needed and kept. Every call ends within the time
// given, but for the system's search for a host's name. Not thread-safe.
class Connection {
public:
    Connection(Target target, Duration io_timeout);
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    ~Connection();

    // Throws StoreFault: with no effect where the request was not sent, with `effect_once_sent`
    // otherwise.
    [[nodiscard]] Response get(const std::string& path);
    [[nodiscard]] Response post(const std::string& path, std::string body,
                                StoreFault::Effect effect_once_sent);

    [[nodiscard]] const std::string& server() const { return server_; }

private:
    using Moment = std::chrono::steady_clock::time_point;
    class Link;
    struct Sending;
    [[nodiscard]] Response exchange(const Sending& sending);
    [[nodiscard]] Link& connected(Moment deadline);

    const Target target_;
    const Duration io_timeout_;
    const std::string server_;  // "host:port"
    std::unique_ptr<Link> link_;
};

}  // namespace leasehold::http
