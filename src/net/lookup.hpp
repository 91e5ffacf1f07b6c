#pragma once

#include <boost/asio/ip/tcp.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace leasehold::net {

// Finds the addresses of a host. The system's lookup has no deadline: one that takes longer than
// the caller's deadline continues in the background, and the next call waits for the same one.
// Not thread-safe.
class Lookup {
public:
    using Moment = std::chrono::steady_clock::time_point;
    using Addresses = boost::asio::ip::tcp::resolver::results_type;

    // How long a result that came after its caller's deadline is kept for the next call.
    Lookup(std::string host, std::uint16_t port,
           std::chrono::milliseconds kept_for = std::chrono::seconds{30});
    Lookup(const Lookup&) = delete;
    Lookup& operator=(const Lookup&) = delete;
    ~Lookup();

    struct Found {
        Addresses addresses{};
        boost::system::error_code error{};
    };
    // std::nullopt if it takes longer.
    [[nodiscard]] std::optional<Found> find(Moment deadline);

private:
    class Search;

    // Throws std::system_error if no thread can be started.
    void begin();

    const std::string host_;
    const std::uint16_t port_;
    const std::chrono::milliseconds kept_for_;
    std::shared_ptr<Search> under_way_;
};

}  // namespace leasehold::net
