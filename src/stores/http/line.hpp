#pragma once

#include <stop_token>

#include <leasehold/store.hpp>
#include <leasehold/stores/http.hpp>

#include "stores/http/server_connection.hpp"

namespace leasehold::http {

// A place in a server's waiting line for a key: first come, first served.
class Line {
public:
    Line(const ServerAddress& target, Duration io_timeout) : connection_{target, io_timeout} {}

    // Granted as soon as it is our turn. Refused when the patience is over, or when the server ends
    // the wait. Throws StoreFault, also when `ended` is stopped.
    [[nodiscard]] Result<Lease> try_lock(const TryLock& wanted, Duration patience,
                                         const std::stop_token& ended);

private:
    ServerConnection connection_;
    Duration longest_wait_ = std::chrono::minutes{1};  // until the server names another limit
};

}  // namespace leasehold::http
