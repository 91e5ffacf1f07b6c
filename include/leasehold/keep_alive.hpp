#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <variant>
#include <vector>

#include <leasehold/lock_manager.hpp>

namespace leasehold {

// Renews leases in the background, and warns their holder in time when one of them is lost. hold()
// is easier to use; this is for leases that you have already, or that outlive this object.
//
// The holder's time is Lease::valid_until, which LockManager sets, less `margin`; of several
// leases, the earliest. When a renewal is refused, or that time comes before a renewal is
// confirmed, stop_token() is stopped and `on_lost` is called, once. The destructor stops renewing;
// it does not release the leases.
//
// One thread renews all leases of the process. Leases with the same period are renewed at the same
// moment, so that a thousand of them travel in a few batches.
class KeepAlive {
public:
    // Why the lease is lost: the store's refusal, or the last fault if no renewal was confirmed.
    using Loss = std::variant<Refusal, StoreFault>;

    struct Options {
        Duration ttl = std::chrono::minutes{1};
        // As in LockOptions, for the renewals. A lease that reaches it is lost as expired.
        std::optional<Duration> max_hold{};
        // The time between two renewals. If not given: a third of the ttl, or of a shorter
        // max_hold.
        std::optional<Duration> every{};
        // How long before the lease may end the holder must stop. If not given: a tenth of the ttl,
        // or of a shorter max_hold.
        std::optional<Duration> margin{};
        // Called on a thread of its own. It must not throw.
        std::function<void(const Loss&)> on_lost{};
        // Called after each renewal, with the new valid_until(), on the thread that renews all
        // leases of the process. It must not block or throw, and must not destroy this object.
        std::function<void(SteadyClock::time_point)> on_renewed{};
    };

    // Keeps leases that `locks` answered with; `locks` outlives this. The first renewal follows at
    // once. A lease you made yourself counts as lost: get it from `locks.check()` first.
    KeepAlive(LockManager& locks, Lease lease, Options options);
    KeepAlive(LockManager& locks, const std::vector<Lease>& leases, Options options);
    KeepAlive(const KeepAlive&) = delete;
    KeepAlive& operator=(const KeepAlive&) = delete;
    ~KeepAlive();

    // Stopped when the lease is lost. Hand it to the work.
    [[nodiscard]] std::stop_token stop_token() const noexcept;

    // Until when the holder may act, on its own steady clock: `margin` before the lease may end.
    [[nodiscard]] SteadyClock::time_point valid_until() const;

    // Whether the lease is lost, or that time has passed.
    [[nodiscard]] bool lost() const;

    // Why it is lost, once the stop token is stopped.
    [[nodiscard]] std::optional<Loss> loss() const;

private:
    friend class Held;
    enum class FirstRenewal : std::uint8_t { at_once, next_beat };
    KeepAlive(LockManager& locks, const std::vector<Lease>& leases, Options options,
              FirstRenewal first);
    void stop() noexcept;

    struct State;
    std::shared_ptr<State> state_;
};

}  // namespace leasehold
