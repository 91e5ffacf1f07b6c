#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <leasehold/lease.hpp>
#include <leasehold/limits.hpp>

// A lease as a store keeps it, and the list of its fields. A new field of a lease is a member of
// Grant, Lease and Holder, and a line of a list here. If it is a line of `requested_texts`, it is
// also a member of TryLock, TryLockAll, LockOptions and HoldOptions; if it is a line of
// `private_fields`, it is a member of Grant, TryLock and TryLockAll only. Everything else comes
// from the lists: the columns and the schema steps of every store, JSON, what a try brings, and the
// options of the command.
namespace leasehold {

struct Grant {
    LockId lock_id{};
    std::string owner{};
    Mode mode = Mode::exclusive;
    Fence fence = 0;
    Time granted_at{};
    Time expires_at{};
    std::string note{};
    std::string token_id{};  // of the token that took it; empty if it was taken without a token

    friend bool operator==(const Grant&, const Grant&) = default;
};

// One field, whatever struct it is a member of.
template <class Of>
struct LeaseField {
    std::string_view name;           // in JSON
    Of of;                           // of(lease) is the field
    std::string_view column = name;  // in SQL
    std::string_view record = name;  // in etcd
    std::size_t since = 1;           // the first schema version that has it
    std::size_t max_bytes = 0;       // of a text
    std::string_view help{};         // of the command's option, for a text that a try brings
};

// The fields that a grant decides.
inline constexpr std::tuple granted_fields{
    LeaseField{.name = "owner",
               .of = [](auto& lease) -> auto& { return lease.owner; },
               .max_bytes = Limits::owner_bytes},
    LeaseField{.name = "mode", .of = [](auto& lease) -> auto& { return lease.mode; }},
    LeaseField{.name = "fence", .of = [](auto& lease) -> auto& { return lease.fence; }},
    LeaseField{.name = "granted_at",
               .of = [](auto& lease) -> auto& { return lease.granted_at; },
               .record = "granted"},
    LeaseField{.name = "expires_at",
               .of = [](auto& lease) -> auto& { return lease.expires_at; },
               .column = "expiration_time",
               .record = "expires"},
};

// The texts that a try brings, besides the owner. In a try of the caller's own live lease an empty
// text keeps the text that is there.
inline constexpr std::tuple requested_texts{
    LeaseField{.name = "note",
               .of = [](auto& lease) -> auto& { return lease.note; },
               .max_bytes = Limits::note_bytes,
               .help = "shown to others who want the lock"},
};

// All fields that everybody may see, besides the key.
inline constexpr auto public_fields = std::tuple_cat(granted_fields, requested_texts);

// The fields that a try brings and that the store keeps for its decisions. Nobody sees them.
inline constexpr std::tuple private_fields{
    LeaseField{.name = "token_id",
               .of = [](auto& lease) -> auto& { return lease.token_id; },
               .since = 2,
               .max_bytes = Limits::token_id_bytes},
};

// All fields that a store keeps, besides the key and the lock id.
inline constexpr auto stored_fields = std::tuple_cat(public_fields, private_fields);

template <class Fields, class Use>
constexpr void for_each_field(const Fields& fields, Use use) {
    std::apply([&](const auto&... field) { (use(field), ...); }, fields);
}

// The version of the schema, the same in every store. Raise it with a field that is `since` the new
// version, or with a new enumerator of Mode or Gone: an older process must not meet a number that
// it does not know. Every store gets the step from here, see core/lock_tables.hpp.
inline constexpr std::size_t schema_version = 3;

template <class Fields>
[[nodiscard]] constexpr std::size_t newest_of(const Fields& fields) {
    std::size_t newest = 1;
    for_each_field(fields, [&](const auto& field) { newest = std::max(newest, field.since); });
    return newest;
}
static_assert(newest_of(stored_fields) <= schema_version, "a field needs a later schema_version");

template <class From, class To>
void copy_fields(const auto& fields, From&& from, To& to) {
    for_each_field(fields, [&](const auto& field) {
        if constexpr (std::is_lvalue_reference_v<From>) {
            field.of(to) = field.of(from);
        } else {
            field.of(to) = std::move(field.of(from));
        }
    });
}

[[nodiscard]] inline Lease to_lease(const LockKey& key, const Grant& grant, Time store_now) {
    Lease lease{.key = key, .lock_id = grant.lock_id, .store_now = store_now};
    copy_fields(public_fields, grant, lease);
    return lease;
}

[[nodiscard]] inline Holder to_holder(const LockKey& key, const Grant& grant) {
    Holder holder{.key = key};
    copy_fields(public_fields, grant, holder);
    return holder;
}

// The public part of a lease.
[[nodiscard]] inline Holder holder_of(Lease lease) {
    Holder holder{.key = std::move(lease.key)};
    copy_fields(public_fields, std::move(lease), holder);
    return holder;
}

}  // namespace leasehold
