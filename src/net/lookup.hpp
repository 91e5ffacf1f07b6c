#pragma once

#include <boost/asio/ip/tcp.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace leasehold::net {

// Finds the addresses of a host. The system's search for a name has no deadline: one that takes
// longer goes on by itself, and whoever asks again waits for the same one. Not thread-safe.
class Lookup {
public:
    using Moment = std::chrono::steady_clock::time_point;
    using Addresses = boost::asio::ip::tcp::resolver::results_type;

    // What was found after a caller's deadline is kept so long for the next.
    Lookup(std::string host, std::uint16_t port,
           std::chrono::milliseconds kept_for = std::chrono::seconds{30});
    Lookup(const Lookup&) = delete;
    Lookup& operator=(const Lookup&) = delete;
    ~Lookup();

    struct Found {
        Addresses addresses{};
        boost::system::error_code error{};
    };
    // Nothing where it takes longer.
    [[nodiscard]] std::optional<Found> find(Moment deadline);

private:
    class Search;

    // Throws std::system_error where there can be no thread for it.
    void begin();

    const std::string host_;
    const std::uint16_t port_;
    const std::chrono::milliseconds kept_for_;
    std::shared_ptr<Search> under_way_;
};

}  // namespace leasehold::net
