#pragma once

#include <string>

#include <leasehold/lock_manager.hpp>

namespace leasehold {

// An owner that releases everything it holds when it ends: a signed-in user, a browser tab, a batch
// run. Leases that other processes hold under the same owner path end with it too. Thread-safe.
class Session {
public:
    // `locks` outlives this; `owner` is not empty.
    Session(LockManager& locks, std::string owner);
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    // Ends the session. If that fails with a fault, the leases end at their expiry.
    ~Session();

    // As LockManager::try_lock, with this session as the owner. `options.owner`, if given, is
    // appended to the session's owner path.
    [[nodiscard]] Result<Lease> try_lock(LockKey key, LockOptions options = {});

    // Releases all leases of the owner and of owners below it, and returns them.
    Result<std::vector<Lease>> end();

    [[nodiscard]] const std::string& owner() const noexcept { return owner_; }

private:
    LockManager& locks_;
    const std::string owner_;
};

}  // namespace leasehold
