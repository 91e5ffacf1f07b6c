#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include <leasehold/request.hpp>

#include "core/enum_table.hpp"

// What can be said about a request without asking a store: its kind, what the kind does, and which
// lock ids, keys and owner it names.
namespace leasehold {

// In the order of the alternatives of Request.
enum class RequestKind : std::uint8_t {
    try_lock,
    try_lock_all,
    check,
    extend,
    renew,
    release,
    release_all,
    break_lock,
    holders,
    list,
    history,
    purge,
};

static_assert(enum_size<RequestKind> == std::variant_size_v<Request>);

namespace detail {

template <class R, class... Rs>
consteval std::size_t index_among(std::type_identity<std::variant<Rs...>> /*all*/) {
    constexpr bool same[] = {std::is_same_v<R, Rs>...};
    std::size_t index = 0;
    while (!same[index]) ++index;
    return index;
}

}  // namespace detail

template <class R>
inline constexpr auto kind_of_type =
    static_cast<RequestKind>(detail::index_among<R>(std::type_identity<Request>{}));

static_assert(kind_of_type<TryLock> == RequestKind::try_lock);
static_assert(kind_of_type<TryLockAll> == RequestKind::try_lock_all);
static_assert(kind_of_type<Check> == RequestKind::check);
static_assert(kind_of_type<Extend> == RequestKind::extend);
static_assert(kind_of_type<Renew> == RequestKind::renew);
static_assert(kind_of_type<Release> == RequestKind::release);
static_assert(kind_of_type<ReleaseAll> == RequestKind::release_all);
static_assert(kind_of_type<Break> == RequestKind::break_lock);
static_assert(kind_of_type<Holders> == RequestKind::holders);
static_assert(kind_of_type<List> == RequestKind::list);
static_assert(kind_of_type<History> == RequestKind::history);
static_assert(kind_of_type<Purge> == RequestKind::purge);

[[nodiscard]] inline RequestKind kind_of(const Request& request) noexcept {
    return static_cast<RequestKind>(request.index());
}

// What a request of a kind does with leases.
enum class Purpose : std::uint8_t {
    take,     // grants a lease, or prolongs the owner's own
    prolong,  // moves the expiry of a lease
    end,      // ends leases
    look,     // changes nothing
    forget,   // forgets leases that ended long ago
};

struct RequestTraits {
    std::string_view name;  // "op" in a message
    Purpose purpose;
    bool names_own_lease;  // by its lock id, as only its holder can
    bool works_on_cells;   // is decided by the rules, on the cells of its keys
};

inline constexpr EnumTable<RequestKind, RequestTraits> request_traits{{
    {RequestKind::try_lock, {"try", Purpose::take, false, true}},
    {RequestKind::try_lock_all, {"try_all", Purpose::take, false, true}},
    {RequestKind::check, {"check", Purpose::look, true, true}},
    {RequestKind::extend, {"extend", Purpose::prolong, true, true}},
    {RequestKind::renew, {"renew", Purpose::prolong, true, true}},
    {RequestKind::release, {"release", Purpose::end, true, true}},
    {RequestKind::release_all, {"release_all", Purpose::end, false, true}},
    {RequestKind::break_lock, {"break", Purpose::end, false, true}},
    {RequestKind::holders, {"holders", Purpose::look, false, true}},
    {RequestKind::list, {"list", Purpose::look, false, false}},
    {RequestKind::history, {"history", Purpose::look, false, false}},
    {RequestKind::purge, {"purge", Purpose::forget, false, false}},
}};

[[nodiscard]] constexpr std::string_view name_of(RequestKind kind) noexcept {
    return request_traits[kind].name;
}
// try_lock and try_lock_all.
[[nodiscard]] constexpr bool takes(RequestKind kind) noexcept {
    return request_traits[kind].purpose == Purpose::take;
}
// extend and renew.
[[nodiscard]] constexpr bool prolongs(RequestKind kind) noexcept {
    return request_traits[kind].purpose == Purpose::prolong;
}
// release, release_all and break.
[[nodiscard]] constexpr bool ends(RequestKind kind) noexcept {
    return request_traits[kind].purpose == Purpose::end;
}
// check, holders, list and history.
[[nodiscard]] constexpr bool only_reads(RequestKind kind) noexcept {
    return request_traits[kind].purpose == Purpose::look;
}
// check, extend, renew and release.
[[nodiscard]] constexpr bool names_own_lease(RequestKind kind) noexcept {
    return request_traits[kind].names_own_lease;
}
// check, extend and renew: the lease goes on after them.
[[nodiscard]] constexpr bool keeps_own_lease(RequestKind kind) noexcept {
    return names_own_lease(kind) && !ends(kind);
}
// All but list, history and purge.
[[nodiscard]] constexpr bool works_on_cells(RequestKind kind) noexcept {
    return request_traits[kind].works_on_cells;
}

// TryLock and TryLockAll.
template <class R>
concept AnyTry = takes(kind_of_type<R>);

// Check, Extend, Renew and Release: the lock id says which lease, the key is optional.
template <class R>
concept ByLockId = names_own_lease(kind_of_type<R>);

// The lock id of a request that names its own lease, or nullptr.
[[nodiscard]] const LockId* lock_id_of(const Request& request);
// The lock ids and the keys that a try names: `ids[i]` is for `keys[i]`.
[[nodiscard]] std::span<const TryLockId> tried_ids(const TryLock& request) noexcept;
[[nodiscard]] std::span<const TryLockId> tried_ids(const TryLockAll& request) noexcept;
[[nodiscard]] std::span<const LockKey> tried_keys(const TryLock& request) noexcept;
[[nodiscard]] std::span<const LockKey> tried_keys(const TryLockAll& request) noexcept;

// The keys that a request names; nothing if it may concern other keys too.
[[nodiscard]] std::optional<std::span<const LockKey>> keys_of(const Request& request);

// The owner in whose name a request is made (a try or a release_all), or nullptr.
[[nodiscard]] const std::string* owner_of(const Request& request);

// Who ends the leases, as the history says it (a release, a release_all or a break), or nullptr.
[[nodiscard]] const std::string* ended_by(const Request& request);

// The number of rows that a list or a history asks for, and 0 for every other request.
[[nodiscard]] std::size_t rows_asked_for(const Request& request);

// How much work the request is for a store: a try of one key is 1, and a page has the weight of its
// rows. A batch is as long as its weight allows, so that no request waits very long for its turn.
[[nodiscard]] std::size_t weight_of(const Request& request);

// The number of keys and lock ids that a store looks up to decide the request. The keys of a
// release_all are not known here.
[[nodiscard]] std::size_t count_lookups(const Request& request);

// The key of a request that a store may answer in one statement, or nullptr: a plain try, and
// requests about the caller's own lease that name its key.
[[nodiscard]] const LockKey* shortcut_key(const Request& request);

}  // namespace leasehold
