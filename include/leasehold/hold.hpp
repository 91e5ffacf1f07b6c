#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <leasehold/keep_alive.hpp>
#include <leasehold/lock_manager.hpp>

namespace leasehold {

struct HoldOptions {
    // Shown to others, followed by a random part: "host-1/hold-5c0f3a9e". So two holds with the
    // same owner exclude each other, also in one process. Empty: anonymous.
    std::string owner{};
    Mode mode = Mode::exclusive;
    std::optional<std::size_t> places{};  // as in LockOptions
    // How long the lock stays taken if this process dies. While it lives, it renews the lease.
    Duration ttl = std::chrono::minutes{1};
    std::string note{};  // shown to everybody who is refused
    // The longest time to hold the lock in all, renewals included. Then the lease expires, and the
    // work is stopped `margin` before.
    std::optional<Duration> max_hold{};

    // How long to wait while others hold the lock, and what ends the wait, as for
    // LockManager::lock_for.
    Duration wait = Duration::zero();
    std::stop_token stop_waiting{};

    // The time between two renewals. If not given: a third of the ttl, or of a
    // shorter max_hold.
    std::optional<Duration> every{};
    // How long before the lease may end the work must stop: as long as it needs for that. If not
    // given: a tenth of the ttl, or of a shorter max_hold.
    std::optional<Duration> margin{};
};

// A lock, or several, held until the end of the scope:
//
//   auto held = leasehold::hold(locks, {"Job", "nightly"}, {.owner = host, .wait = 30s});
//   if (!held) return explain(held.error());
//   for (auto& item : items) {
//       if (held->lost()) return;            // or hand held->stop_token() to the work
//       write(item, held->fence());
//   }
//
// The lease is renewed in the background. When it is lost, stop_token() is stopped, `margin` before
// somebody else can get the lock, so the work can end in time. Thread-safe, but for moves.
class Held {
public:
    Held(Held&&) noexcept;
    // Releases what it held before.
    Held& operator=(Held&&) noexcept;
    // Releases the lock. If that fails with a fault, the lease ends at its expiry.
    ~Held();

    // As it was granted: renewals change only its expiry.
    [[nodiscard]] const Lease& lease() const noexcept { return leases().front(); }
    [[nodiscard]] const std::vector<Lease>& leases() const noexcept;
    [[nodiscard]] Fence fence() const noexcept { return lease().fence; }

    // Stopped when a lease is lost. Not stopped by a release.
    [[nodiscard]] std::stop_token stop_token() const noexcept;
    [[nodiscard]] bool lost() const;
    // Why, once the stop token is stopped.
    [[nodiscard]] std::optional<KeepAlive::Loss> loss() const;
    // Until when the holder may act, on its own steady clock, unless the lease is renewed.
    [[nodiscard]] SteadyClock::time_point valid_until() const;

    // Gives the leases back without releasing them. They end at their expiry, unless you renew
    // them.
    std::vector<Lease> keep() &&;

private:
    friend Result<Held> hold(LockManager& locks, LockKey key, HoldOptions options);
    friend Result<Held> hold_all(LockManager& locks, std::vector<LockKey> keys,
                                 HoldOptions options);

    struct State;
    Held(LockManager& locks, std::vector<Lease> leases, const HoldOptions& options);

    std::unique_ptr<State> state_;  // empty once moved from or kept
};

// Takes the lock, and keeps it until Held is destroyed. Refused with the holders when the wait is
// over. Faults as for LockManager::lock_for. `locks` outlives the Held.
[[nodiscard]] Result<Held> hold(LockManager& locks, LockKey key, HoldOptions options = {});

// The same for several keys, all or none. If one of the leases is lost, all of them count as lost.
[[nodiscard]] Result<Held> hold_all(LockManager& locks, std::vector<LockKey> keys,
                                    HoldOptions options = {});

}  // namespace leasehold
