#pragma once

#include <map>
#include <string>

#include "conformance/conformance.hpp"
#include "core/fresh_lock_id.hpp"

namespace leasehold::conformance {

// Every kind of request, with and without the key where the key may be missing.
[[nodiscard]] inline std::map<std::string, Request> every_request(const Lease& lease) {
    const LockKey free{"Order", "free"};
    return {
        {"try", TryLock{.key = free, .lock_id = LockId::random(), .owner = "bob", .ttl = 1min}},
        {"try with a fresh lock id",
         TryLock{.key = free, .lock_id = FreshLockId::draw(), .owner = "bob", .ttl = 1min}},
        {"try of a held key",
         TryLock{.key = lease.key, .lock_id = LockId::random(), .owner = "bob", .ttl = 1min}},
        {"shared try", TryLock{.key = free,
                               .lock_id = LockId::random(),
                               .owner = "bob",
                               .mode = Mode::shared,
                               .ttl = 1min}},
        {"try all", TryLockAll{.keys = {free, {"Order", "other"}},
                               .lock_ids = {LockId::random(), LockId::random()},
                               .owner = "bob",
                               .ttl = 1min}},
        {"check", Check{.key = lease.key, .lock_id = lease.lock_id}},
        {"check without a key", Check{.lock_id = lease.lock_id}},
        {"extend", Extend{.key = lease.key, .lock_id = lease.lock_id, .by = 1s}},
        {"renew", Renew{.key = lease.key, .lock_id = lease.lock_id, .ttl = 1h}},
        {"renew without a key", Renew{.lock_id = lease.lock_id, .ttl = 1h}},
        {"release", Release{.key = lease.key, .lock_id = lease.lock_id}},
        {"release without a key", Release{.lock_id = lease.lock_id}},
        {"release all", ReleaseAll{.owner = "alice"}},
        {"break", Break{.key = lease.key, .fence = lease.fence, .reason = "test"}},
        {"holders", Holders{.key = lease.key}},
        {"list", List{}},
        {"list of an owner", List{.owner = "alice"}},
        {"history", History{}},
        {"history of a key", History{.key = lease.key}},
        {"purge", Purge{}},
    };
}

}  // namespace leasehold::conformance
