#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include <leasehold/lock_manager.hpp>

namespace leasehold {

struct LeaderOptions {
    // Shown to the others, followed by a random part, as the owner of a hold: candidates may have
    // the same name.
    std::string name{};
    // How long nobody leads after the leader's process has died.
    Duration ttl = std::chrono::seconds{30};
    std::string note{};
    // How long before somebody else can lead the work must stop: as long as it needs for that. If
    // not given: a tenth of the ttl.
    std::optional<Duration> margin{};
    // Called with what the work has thrown, and with a fault of the store that does not pass by
    // waiting. The candidate tries again after a pause. If not given, nobody learns of them.
    std::function<void(const std::exception&)> on_error{};
};

// Runs work in one of many processes. Each of them makes a Leader with the same key:
//
//   leasehold::Leader leader{locks, {"Leader", "billing"}, {.name = host},
//                            [&](const std::stop_token& stop, leasehold::Fence fence) {
//                                while (!stop.stop_requested()) send_next_bill(fence);
//                            }};
//
// On a thread of its own, it repeats these steps until it is destroyed:
// 1. It waits for the lock.
// 2. It runs the work. The stop token is stopped when the lease is lost, `margin` before somebody
//    else can lead, and when this object is destroyed.
// 3. When the work has returned, it releases the lock, so that another candidate can lead at once.
//    After a pause it becomes a candidate again.
//
// So by the leader's own clock two never lead at the same time, as long as the work stops within
// `margin`. Work that may not stop in time gives the fence along, as with every lease. Thread-safe.
class Leader {
public:
    using Work = std::function<void(const std::stop_token&, Fence)>;

    // `locks` outlives this. Throws BadRequest if the options cannot work, or `work` is empty.
    Leader(LockManager& locks, LockKey key, LeaderOptions options, Work work);
    Leader(const Leader&) = delete;
    Leader& operator=(const Leader&) = delete;
    // Stops the work, waits until it has returned, and hands over.
    ~Leader();

    // Whether the work runs here, and may act.
    [[nodiscard]] bool leads() const;

    // Who leads, in this process or another. Nobody does between two leaders. Asks the store.
    [[nodiscard]] std::optional<Holder> current() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace leasehold
