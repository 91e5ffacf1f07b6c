#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <variant>

#include <leasehold/lock_manager.hpp>

namespace leasehold {

// Renews a lease in the background, and tells its holder in time when it is lost.
//
// The holder's time is counted on the steady clock from before the lease was asked for, so a slow
// answer shortens it and never stretches it. When the lease is refused, or could not be confirmed
// until `margin` before it may end, stop_token() is stopped and `on_lost` is called, once.
// Destroying it stops renewing; it does not release.
class KeepAlive {
public:
    // Why the lease is lost: the store's refusal, or the last fault when it could not be confirmed.
    using Loss = std::variant<Refusal, StoreFault>;

    struct Options {
        Duration ttl = std::chrono::minutes{1};
        // How often to renew; a third of the ttl where not given.
        std::optional<Duration> every{};
        // How long before the possible end the holder is told; a tenth of the ttl where not given.
        std::optional<Duration> margin{};
        // Called on a thread of its own; must not throw, and must not destroy this object.
        std::function<void(const Loss&)> on_lost{};
        // Called on that thread after each renewal, with the new valid_until(); as on_lost.
        std::function<void(SteadyClock::time_point)> on_renewed{};
    };

    // Takes over a lease granted by `locks`, which outlives this. `asked_at` is the time before
    // try_lock was called. The first renewal follows at once.
    KeepAlive(LockManager& locks, Lease lease, SteadyClock::time_point asked_at, Options options);
    KeepAlive(const KeepAlive&) = delete;
    KeepAlive& operator=(const KeepAlive&) = delete;
    ~KeepAlive();

    // Stopped when the lease is lost. Hand it to the work.
    [[nodiscard]] std::stop_token stop_token() const noexcept;

    // Until when the holder may act, on its own steady clock.
    [[nodiscard]] SteadyClock::time_point valid_until() const;

    // Whether the lease is lost, or that time is over.
    [[nodiscard]] bool lost() const;

private:
    struct State;
    std::unique_ptr<State> state_;
    std::jthread thread_;  // ends before state_ does
};

}  // namespace leasehold
