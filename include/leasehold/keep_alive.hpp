#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <variant>

#include <leasehold/lock_manager.hpp>

namespace leasehold {

// Renews a lease in the background, and warns its holder in time when the lease is lost.
//
// The holder's time is Lease::valid_until, which LockManager sets, less `margin`. When a renewal is
// refused, or that time comes before a renewal is confirmed, stop_token() is stopped and `on_lost`
// is called, once. The destructor stops renewing; it does not release the lease.
class KeepAlive {
public:
    // Why the lease is lost: the store's refusal, or the last fault if no renewal was confirmed.
    using Loss = std::variant<Refusal, StoreFault>;

    struct Options {
        Duration ttl = std::chrono::minutes{1};
        // The time between two renewals. If not given: a third of the ttl.
        std::optional<Duration> every{};
        // How long before the lease may end the holder must stop. If not given: a tenth of the ttl.
        std::optional<Duration> margin{};
        // Called on the thread that renews. It must not throw, and must not destroy this object.
        std::function<void(const Loss&)> on_lost{};
        // Called on the same thread after each renewal, with the new valid_until(). It must not
        // throw, and must not destroy this object.
        std::function<void(SteadyClock::time_point)> on_renewed{};
    };

    // Keeps a lease that `locks` answered with; `locks` outlives this. The first renewal follows at
    // once. A lease you made yourself counts as lost: get it from `locks.check()` first.
    KeepAlive(LockManager& locks, Lease lease, Options options);
    KeepAlive(const KeepAlive&) = delete;
    KeepAlive& operator=(const KeepAlive&) = delete;
    ~KeepAlive();

    // Stopped when the lease is lost. Hand it to the work.
    [[nodiscard]] std::stop_token stop_token() const noexcept;

    // Until when the holder may act, on its own steady clock: `margin` before the lease may end.
    [[nodiscard]] SteadyClock::time_point valid_until() const;

    // Whether the lease is lost, or that time has passed.
    [[nodiscard]] bool lost() const;

private:
    struct State;
    std::unique_ptr<State> state_;
    std::jthread thread_;  // ends before state_ does
};

}  // namespace leasehold
