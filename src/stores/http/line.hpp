#pragma once

#include <atomic>
#include <chrono>
#include <stop_token>
#include <utility>

#include <leasehold/store.hpp>
#include <leasehold/stores/http.hpp>

namespace leasehold::http {

// The waiting lines of a server. Each wait has a connection of its own, and the server learns from
// its end that nobody waits any more. Thread-safe.
class Line final : public StoreLine {
public:
    Line(ServerAddress target, Duration io_timeout)
        : target_{std::move(target)}, io_timeout_{io_timeout} {}

    [[nodiscard]] Outcome wait(const TryLock& wanted, Duration patience,
                               const std::stop_token& stop) override;

private:
    const ServerAddress target_;
    const Duration io_timeout_;
    std::atomic<Duration> longest_wait_{std::chrono::minutes{1}};  // until the server names another
};

}  // namespace leasehold::http
