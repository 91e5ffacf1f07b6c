#pragma once

#include <leasehold/lock_manager.hpp>

#include <memory>
#include <stop_token>

#include "cli/subcommand.hpp"

namespace leasehold::http {
class Line;
}

namespace leasehold::cli {

// Where one waits for a lock: in the line of a server, first come, first served. Other stores have
// none, and say at once who has the lock.
class PlaceInLine {
public:
    explicit PlaceInLine(const Invocation& call);
    PlaceInLine(const PlaceInLine&) = delete;
    PlaceInLine& operator=(const PlaceInLine&) = delete;
    ~PlaceInLine();

    struct Taken {
        Lease lease;
        SteadyClock::time_point asked_at;  // its time began later
    };
    // `locks` is the manager of that store. Throws StoreFault, also when `ended`.
    [[nodiscard]] Result<Taken> take(LockManager& locks, const LockKey& key,
                                     const LockOptions& options, Duration patience,
                                     const std::stop_token& ended);

private:
    std::unique_ptr<http::Line> line_;
};

}  // namespace leasehold::cli
