#pragma once

#include <tuple>

#include "core/grant.hpp"

namespace leasehold::conformance {

// Fields that a later version adds to every lease, one of each type. Only their schema step is
// used, so their values are those of existing fields.
inline constexpr std::tuple later_fields{
    LeaseField{.name = "shelf",
               .of = [](auto& lease) -> auto& { return lease.note; },
               .since = schema_version + 1,
               .max_bytes = 20},
    LeaseField{.name = "shelf_number",
               .of = [](auto& lease) -> auto& { return lease.fence; },
               .since = schema_version + 1},
    LeaseField{.name = "shelved_at",
               .of = [](auto& lease) -> auto& { return lease.granted_at; },
               .since = schema_version + 1},
};

}  // namespace leasehold::conformance
