#pragma once

#include <chrono>

namespace leasehold {

// A moment on the store's clock. Never compare it with a clock of your own: ask for `store_now`.
using Time = std::chrono::sys_time<std::chrono::microseconds>;
using Duration = std::chrono::microseconds;

// As a ttl: the lease lives until it is released or broken. Off unless Limits::allow_endless.
inline constexpr Duration until_released = Duration::max();

// The expiry of such a lease.
inline constexpr Time never = Time::max();

// A holder's own clock, to count how long it may act. Unlike std::chrono::steady_clock it goes on
// while the machine is suspended, as the store's clock does.
struct SteadyClock {
    using duration = Duration;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<SteadyClock>;
    static constexpr bool is_steady = true;

    [[nodiscard]] static time_point now() noexcept;
};

}  // namespace leasehold
