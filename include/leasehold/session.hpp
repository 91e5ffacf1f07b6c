#pragma once

#include <atomic>
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
    // Ends the session, unless keep() was called. If that fails with a fault, the leases end at
    // their expiry.
    ~Session();

    // As LockManager::try_lock, with this session as the owner. `options.owner`, if given, is
    // appended to the session's owner path. Refused as gone once the session has ended, also if the
    // try was under way when it ended. So nobody who has signed out is left with a lock, unless the
    // store fails: then the lease ends at its expiry.
    [[nodiscard]] Result<Lease> try_lock(LockKey key, LockOptions options = {});

    // Releases all leases of the owner and of owners below it, and returns them.
    Result<std::vector<Lease>> end();

    // Leaves the leases to their holders and their expiry: the destructor releases nothing. For a
    // program that stops while its users go on, to be served by the next one.
    void keep() noexcept { kept_ = true; }

    [[nodiscard]] const std::string& owner() const noexcept { return owner_; }

private:
    LockManager& locks_;
    const std::string owner_;
    std::atomic<bool> ended_{false};
    std::atomic<bool> kept_{false};
};

}  // namespace leasehold
