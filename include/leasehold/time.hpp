#pragma once

#include <chrono>

namespace leasehold {

// A moment on the store's clock. Compare it with `store_now` of an answer, never with your own
// clock.
using Time = std::chrono::sys_time<std::chrono::microseconds>;
using Duration = std::chrono::microseconds;

// As a ttl: the lease lives until it is released or broken. Allowed only by Limits::allow_endless.
inline constexpr Duration until_released = Duration::max();

// The expiry of such a lease.
inline constexpr Time never = Time::max();

// The holder's own clock, to count how long it may act. Unlike std::chrono::steady_clock it keeps
// running while the machine is suspended, as the store's clock does.
struct SteadyClock {
    using duration = Duration;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<SteadyClock>;
    static constexpr bool is_steady = true;

    [[nodiscard]] static time_point now() noexcept;
};

}  // namespace leasehold
