#pragma once

#include <string>

#include <leasehold/stores/http.hpp>

#include "net/connection.hpp"

namespace leasehold::http {

using net::Response;

// One connection to a Leasehold server. Not thread-safe.
class Connection {
public:
    Connection(const Target& target, Duration io_timeout);

    // Throws StoreFault: with no effect where the request was not sent, with `effect_once_sent`
    // otherwise.
    [[nodiscard]] Response get(const std::string& path);
    [[nodiscard]] Response post(const std::string& path, std::string body,
                                StoreFault::Effect effect_once_sent);

    [[nodiscard]] const std::string& server() const { return connection_.server(); }

private:
    [[nodiscard]] Response exchange(net::Message message);

    const std::string prefix_;
    const std::string authorization_;
    const Duration io_timeout_;
    net::Connection connection_;
};

}  // namespace leasehold::http
