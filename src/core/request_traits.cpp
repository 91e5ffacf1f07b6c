#include "core/request_traits.hpp"

#include <leasehold/limits.hpp>

#include <algorithm>

#include "core/fresh_lock_id.hpp"

namespace leasehold {
namespace {

template <class R>
concept HasOptionalKey = requires(const R& request) { request.key.has_value(); };

std::span<const LockKey> span_of(const LockKey& key) noexcept {
    return {&key, 1};
}

bool has_one_step(const TryLock& request) noexcept {
    return request.mode == Mode::exclusive && !request.since && request.ttl != until_released;
}
bool has_one_step(const Check& /*request*/) noexcept {
    return true;
}
bool has_one_step(const Extend& request) noexcept {
    return request.max_ttl != until_released;
}
bool has_one_step(const Renew& request) noexcept {
    return request.ttl != until_released;
}
bool has_one_step(const Release& request) noexcept {
    return !request.if_expires_at;
}

}  // namespace

const LockId* lock_id_of(const Request& request) {
    return std::visit(
        []<class R>(const R& r) -> const LockId* {
            if constexpr (ByLockId<R>) {
                return &r.lock_id;
            } else {
                return nullptr;
            }
        },
        request);
}

std::span<const TryLockId> tried_ids(const TryLock& request) noexcept {
    return {&request.lock_id, 1};
}
std::span<const TryLockId> tried_ids(const TryLockAll& request) noexcept {
    return request.lock_ids;
}
std::span<const LockKey> tried_keys(const TryLock& request) noexcept {
    return span_of(request.key);
}
std::span<const LockKey> tried_keys(const TryLockAll& request) noexcept {
    return request.keys;
}

std::optional<std::span<const LockKey>> keys_of(const Request& request) {
    return std::visit(
        []<class R>(const R& r) -> std::optional<std::span<const LockKey>> {
            if constexpr (AnyTry<R>) {
                return tried_keys(r);
            } else if constexpr (ByLockId<R>) {
                if (!r.key) return std::nullopt;
                return span_of(*r.key);
            } else if constexpr (std::is_same_v<R, Break> || std::is_same_v<R, Holders>) {
                return span_of(r.key);
            } else {
                return std::nullopt;
            }
        },
        request);
}

const std::string* owner_of(const Request& request) {
    return std::visit(
        []<class R>(const R& r) -> const std::string* {
            if constexpr (AnyTry<R> || std::is_same_v<R, ReleaseAll>) {
                return &r.owner;
            } else {
                return nullptr;
            }
        },
        request);
}

const std::string* ended_by(const Request& request) {
    return std::visit(
        []<class R>(const R& r) -> const std::string* {
            if constexpr (ends(kind_of_type<R>)) {
                return &r.by;
            } else {
                return nullptr;
            }
        },
        request);
}

std::size_t rows_asked_for(const Request& request) {
    return std::visit(
        []<class R>(const R& r) -> std::size_t {
            if constexpr (std::is_same_v<R, List> || std::is_same_v<R, History>) {
                return r.limit;
            } else {
                return 0;
            }
        },
        request);
}

std::size_t weight_of(const Request& request) {
    // Reading this many rows takes a store as long as a try.
    constexpr std::size_t rows_of_a_try = 16;
    // A list may read many rows that it does not return, such as leases of other owners, and a
    // release_all may end many leases. Their number is unknown here, so few of these requests share
    // a batch and other requests get in between.
    constexpr std::size_t leases_of_an_owner = 128;
    return std::visit(
        []<class R>(const R& r) -> std::size_t {
            if constexpr (std::is_same_v<R, TryLockAll>) {
                return std::max<std::size_t>(r.keys.size(), 1);
            } else if constexpr (std::is_same_v<R, List>) {
                return 1 + (Limits::rows_looked_through + r.limit) / rows_of_a_try;
            } else if constexpr (std::is_same_v<R, History>) {
                return 1 + r.limit / rows_of_a_try;
            } else if constexpr (std::is_same_v<R, Holders>) {
                return 1 + Limits::shared_holders / rows_of_a_try;
            } else if constexpr (std::is_same_v<R, Purge>) {
                return 1 + r.rows / rows_of_a_try;
            } else if constexpr (std::is_same_v<R, ReleaseAll>) {
                return r.key ? 1 : leases_of_an_owner;
            } else {
                return 1;
            }
        },
        request);
}

std::size_t count_lookups(const Request& request) {
    return std::visit(
        []<class R>(const R& r) -> std::size_t {
            if constexpr (AnyTry<R>) {
                const auto fresh = std::ranges::count_if(tried_ids(r), FreshLockId::is_fresh);
                return 2 * tried_keys(r).size() - static_cast<std::size_t>(fresh);
            } else if constexpr (HasOptionalKey<R>) {
                return r.key ? 1 : 2;
            } else {
                return 1;
            }
        },
        request);
}

const LockKey* shortcut_key(const Request& request) {
    return std::visit(
        []<class R>(const R& r) -> const LockKey* {
            if constexpr (std::is_same_v<R, TryLock>) {
                return has_one_step(r) ? &r.key : nullptr;
            } else if constexpr (ByLockId<R>) {
                return r.key && has_one_step(r) ? &*r.key : nullptr;
            } else {
                return nullptr;
            }
        },
        request);
}

}  // namespace leasehold
