#pragma once

#include <string_view>

#include <leasehold/errors.hpp>
#include <leasehold/lease.hpp>
#include <leasehold/queries.hpp>
#include <leasehold/store_status.hpp>

#include "core/enum_table.hpp"

// The name of every enumerator, the same in messages, logs, metrics and texts. The names of the
// requests are in core/request_traits.hpp.
namespace leasehold {

using EnumName = std::string_view;

inline constexpr EnumTable<Mode, EnumName> mode_names{{
    {Mode::exclusive, "exclusive"},
    {Mode::shared, "shared"},
}};

inline constexpr EnumTable<OwnerScope, EnumName> owner_scope_names{{
    {OwnerScope::exact, "exact"},
    {OwnerScope::below, "below"},
}};

inline constexpr EnumTable<Gone, EnumName> gone_names{{
    {Gone::unknown, "unknown"},
    {Gone::expired, "expired"},
    {Gone::released, "released"},
    {Gone::taken, "taken"},
    {Gone::broken, "broken"},
}};

inline constexpr EnumTable<Refusal::Kind, EnumName> refusal_names{{
    {Refusal::Kind::held, "held"},
    {Refusal::Kind::gone, "gone"},
    {Refusal::Kind::busy, "busy"},
}};

inline constexpr EnumTable<Durability, EnumName> durability_names{{
    {Durability::none, "none"},
    {Durability::weak, "weak"},
    {Durability::strong, "strong"},
}};

inline constexpr EnumTable<StoreFault::Effect, EnumName> effect_names{{
    {StoreFault::Effect::none, "none"},
    {StoreFault::Effect::unknown, "unknown"},
}};

inline constexpr EnumTable<StoreFault::Cause, EnumName> cause_names{{
    {StoreFault::Cause::unavailable, "unavailable"},
    {StoreFault::Cause::clock_leap, "clock_leap"},
    {StoreFault::Cause::configuration, "configuration"},
    {StoreFault::Cause::not_allowed, "not_allowed"},
    {StoreFault::Cause::internal, "internal"},
    {StoreFault::Cause::lock_id_in_use, "lock_id_in_use"},
    {StoreFault::Cause::too_large, "too_large"},
}};

}  // namespace leasehold
