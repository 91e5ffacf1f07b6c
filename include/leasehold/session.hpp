#pragma once

#include <string>

#include <leasehold/lock_manager.hpp>

namespace leasehold {

// An owner whose end releases everything it holds: a signed-in user, a browser tab, a batch run.
// Thread-safe. What other processes hold under the same owner path ends with it too.
class Session {
public:
    // `locks` outlives this; `owner` is not empty.
    Session(LockManager& locks, std::string owner);
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    // Ends the session; a fault then leaves the leases to their expiry.
    ~Session();

    // As LockManager::try_lock, in this session's name: `options.owner`, if any, is appended to it.
    [[nodiscard]] Result<Lease> try_lock(LockKey key, LockOptions options = {});

    // Releases all leases of the owner and below, and names them.
    Result<std::vector<Lease>> end();

    [[nodiscard]] const std::string& owner() const noexcept { return owner_; }

private:
    LockManager& locks_;
    const std::string owner_;
};

}  // namespace leasehold
