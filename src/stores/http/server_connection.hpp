#pragma once

#include <stop_token>
#include <string>

#include <leasehold/stores/http.hpp>

#include "net/http_connection.hpp"

namespace leasehold::http {

using net::Response;

// One connection to a Leasehold server. Not thread-safe.
class ServerConnection {
public:
    ServerConnection(const ServerAddress& target, Duration io_timeout);

    // Throws StoreFault with no effect if the request was not sent, otherwise with
    // `effect_once_sent`.
    [[nodiscard]] Response post(const std::string& path, std::string body,
                                StoreFault::Effect effect_once_sent);
    // The same for a request that the server may answer later by `patience`. Throws StoreFault when
    // `ended` is stopped.
    [[nodiscard]] Response wait_for(net::Message message, Duration patience,
                                    const std::stop_token& ended);

    [[nodiscard]] const std::string& server() const { return connection_.server(); }

private:
    const std::string prefix_;
    const std::string token_;
    const Duration io_timeout_;
    net::HttpConnection connection_;
};

}  // namespace leasehold::http
