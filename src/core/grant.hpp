#pragma once

#include <string>
#include <utility>

#include <leasehold/lease.hpp>

// A lease as a store keeps it, and its two public forms. A new field of a lease is added to Grant,
// Lease and Holder, and to the conversions here.
namespace leasehold {

struct Grant {
    LockId lock_id{};
    std::string owner{};
    Mode mode = Mode::exclusive;
    Fence fence = 0;
    Time granted_at{};
    Time expires_at{};
    std::string note{};

    friend bool operator==(const Grant&, const Grant&) = default;
};

[[nodiscard]] inline Lease to_lease(const LockKey& key, const Grant& grant, Time store_now) {
    return {.key = key,
            .lock_id = grant.lock_id,
            .owner = grant.owner,
            .mode = grant.mode,
            .fence = grant.fence,
            .granted_at = grant.granted_at,
            .expires_at = grant.expires_at,
            .note = grant.note,
            .store_now = store_now};
}

[[nodiscard]] inline Holder to_holder(const LockKey& key, const Grant& grant) {
    return {.key = key,
            .owner = grant.owner,
            .mode = grant.mode,
            .fence = grant.fence,
            .granted_at = grant.granted_at,
            .expires_at = grant.expires_at,
            .note = grant.note};
}

// The public part of a lease.
[[nodiscard]] inline Holder holder_of(Lease lease) {
    return {.key = std::move(lease.key),
            .owner = std::move(lease.owner),
            .mode = lease.mode,
            .fence = lease.fence,
            .granted_at = lease.granted_at,
            .expires_at = lease.expires_at,
            .note = std::move(lease.note)};
}

}  // namespace leasehold
