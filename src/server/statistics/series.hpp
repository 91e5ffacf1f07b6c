#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

namespace leasehold::server {

// The counts of one step of time.
struct Point {
    std::uint64_t grants = 0;
    std::uint64_t refusals = 0;         // tries that found the key held
    std::uint64_t waits = 0;            // tries that asked to wait
    std::uint64_t lost = 0;             // leases whose holder learnt that they had ended
    std::size_t waiters = 0;            // the most clients that waited at once
    std::optional<std::size_t> held{};  // live leases in the store, if they were counted
};

// The latest points, one for each step of time, also for steps without any event. Not thread-safe.
class Series {
public:
    using Clock = std::chrono::steady_clock;

    Series(Clock::duration step, std::size_t most, Clock::time_point now)
        : step_{step}, most_{most}, begun_{now}, points_(1) {}

    // The point that contains this time.
    [[nodiscard]] Point& at(Clock::time_point now);
    // This number of clients waits from now on.
    void waiting(std::size_t waiters, Clock::time_point now);

    // The same steps without points, for a client that may not see the numbers.
    [[nodiscard]] Series without_points() const {
        Series copy = *this;
        copy.points_.clear();
        return copy;
    }

    // The oldest first. The last one still grows.
    [[nodiscard]] const std::deque<Point>& points() const noexcept { return points_; }
    [[nodiscard]] Clock::duration step() const noexcept { return step_; }
    // When the step of the last point began.
    [[nodiscard]] Clock::time_point last_begun() const noexcept { return begun_; }

private:
    const Clock::duration step_;
    const std::size_t most_;
    Clock::time_point begun_;
    std::size_t waiters_ = 0;
    std::deque<Point> points_;  // at least one, at most most_
};

}  // namespace leasehold::server
