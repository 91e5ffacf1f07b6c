#include <leasehold/dist_lock.hpp>

#include "core/sizes.hpp"

namespace leasehold {
namespace {

// How many ended leases of a name are looked through for the owner's own.
constexpr std::size_t looked_back = 100;

}  // namespace

Result<Lease> DistLock::try_lock(std::string_view name, std::string owner, Duration duration) {
    if (owner.empty()) throw BadRequest{"a distributed lock needs an owner"};
    return locks_.try_lock({type_, name}, {.owner = std::move(owner), .ttl = duration});
}

Result<Lease> DistLock::unlock(std::string_view name, const std::string& owner) {
    const LockKey key{type_, name};
    auto released = locks_.release_all(owner, OwnerScope::exact, key);
    if (!released) return std::unexpected{std::move(released.error())};
    if (!released->empty()) return std::move(released->front());

    HolderPage holding = locks_.holders(key);
    if (!holding.empty()) {
        NamedHolders holders;
        for (Holder& holder : holding.items) holders.add(std::move(holder));
        return std::unexpected{std::move(holders).refusal(holding.store_now)};
    }
    Refusal refusal;
    refusal.store_now = holding.store_now;
    for (const PastLease& past : locks_.history({.key = key, .limit = looked_back})) {
        if (past.lease.owner != owner) continue;
        refusal.reason = past.how;
        refusal.by = past.by;
        refusal.why = past.why;
        break;
    }
    return std::unexpected{std::move(refusal)};
}

}  // namespace leasehold
