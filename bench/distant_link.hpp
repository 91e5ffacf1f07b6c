#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace leasehold::bench {

// A relay to a port of 127.0.0.1 that lets bytes pass only after a time, each way, as a long line
// would, and counts the round trips. Bytes under way do not hold up the ones behind them.
class DistantLink {
public:
    DistantLink(std::uint16_t to, std::chrono::microseconds each_way);
    ~DistantLink();
    DistantLink(const DistantLink&) = delete;
    DistantLink& operator=(const DistantLink&) = delete;

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    // How often a client has sent something after the server had answered, on all connections.
    [[nodiscard]] std::uint64_t round_trips() const noexcept { return round_trips_; }
    [[nodiscard]] std::size_t connections() const noexcept { return connections_; }

private:
    class Line;

    void work();
    void accept_line();

    const std::uint16_t to_;
    const std::chrono::microseconds each_way_;
    std::uint16_t port_ = 0;
    int listener_ = -1;
    int stopped_ = -1;
    std::vector<std::unique_ptr<Line>> lines_;  // used by thread_ only
    std::atomic<std::uint64_t> round_trips_{0};
    std::atomic<std::size_t> connections_{0};
    std::thread thread_;
};

}  // namespace leasehold::bench
