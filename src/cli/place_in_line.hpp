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
// none, and say at once who has the lock. Whoever asks again asks for the same lease, which settles
// what a fault left open.
class PlaceInLine {
public:
    explicit PlaceInLine(const Invocation& call);
    PlaceInLine(const PlaceInLine&) = delete;
    PlaceInLine& operator=(const PlaceInLine&) = delete;
    ~PlaceInLine();

    // `locks` is the manager of that store; the lock id is drawn here. Throws StoreFault, also when
    // `ended`: nothing that was granted meanwhile is kept then.
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
