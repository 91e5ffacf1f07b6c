#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <leasehold/lock_manager.hpp>

namespace leasehold {

// A lock by name and owner, for jobs that must run on one of many hosts. Thread-safe.
// An owner stands for one runner: two that use the same owner are one to the lock.
class DistLock {
public:
    // `locks` outlives this. Names are keys of the given type.
    explicit DistLock(LockManager& locks, std::string type = "dist_lock")
        : locks_{locks}, type_{std::move(type)} {}

    // Grants a free or expired name, renews one's own, refuses another's. The owner is not empty.
    [[nodiscard]] Result<Lease> try_lock(std::string_view name, std::string owner,
                                         Duration duration);

    // Ends the owner's lease. Refused as `held` where a stranger holds the name, as `gone` with the
    // reason where the owner's lease had ended.
    Result<Lease> unlock(std::string_view name, const std::string& owner);

private:
    LockManager& locks_;
    std::string type_;
};

}  // namespace leasehold
