#pragma once

#include <leasehold/lock_manager.hpp>

#include <memory>
#include <stop_token>

#include "cli/subcommand.hpp"

namespace leasehold::http {
class Line;
}

namespace leasehold::cli {

// Waits for a lock in the line of a server, first come, first served. Other stores have no line and
// answer at once. Every call of take() asks with the same lock id, so that asking again after a
// fault settles whether the lock was granted.
class PlaceInLine {
public:
    explicit PlaceInLine(const Invocation& call);
    PlaceInLine(const PlaceInLine&) = delete;
    PlaceInLine& operator=(const PlaceInLine&) = delete;
    ~PlaceInLine();

    // `locks` is the manager of that store; `options.lock_id` is ignored. Throws StoreFault, also
    // when `ended` is requested: a lock that was granted then is released.
    [[nodiscard]] Result<Lease> take(LockManager& locks, const LockKey& key, LockOptions options,
                                     Duration patience, const std::stop_token& ended);

private:
    [[nodiscard]] Result<Lease> stand_in_line(LockManager& locks, const LockKey& key,
                                              const LockOptions& options, Duration patience,
                                              const std::stop_token& ended);

    std::unique_ptr<http::Line> line_;
    LockId lock_id_ = LockId::random();
};

}  // namespace leasehold::cli
