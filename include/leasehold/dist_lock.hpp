#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <leasehold/lock_manager.hpp>

namespace leasehold {

// A lock by name and owner, for jobs that must run on one of many hosts. Thread-safe.
// Each runner needs an owner of its own: two runners with the same owner count as one.
class DistLock {
public:
    // `locks` outlives this. Names are keys of the given type.
    explicit DistLock(LockManager& locks, std::string type = "dist_lock")
        : locks_{locks}, type_{std::move(type)} {}

    // Grants a name that is free or expired, renews the owner's own, and refuses one that somebody
    // else holds. The owner is not empty.
    [[nodiscard]] Result<Lease> try_lock(std::string_view name, std::string owner,
                                         Duration duration);

    // Ends the owner's lease. Refused as `held` if somebody else holds the name, and as `gone`,
    // with the reason, if the owner's lease had ended.
    Result<Lease> unlock(std::string_view name, const std::string& owner);

private:
    LockManager& locks_;
    std::string type_;
};

}  // namespace leasehold
