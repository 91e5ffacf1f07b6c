#include "server/events/event.hpp"

#include "core/enum_table.hpp"

namespace leasehold::server {
namespace {

using Kind = Event::Kind;

constexpr EnumTable<Kind, std::string_view> names{{{Kind::granted, "granted"},
                                                   {Kind::extended, "extended"},
                                                   {Kind::released, "released"},
                                                   {Kind::expired, "expired"},
                                                   {Kind::taken, "taken"},
                                                   {Kind::broken, "broken"},
                                                   {Kind::ended, "ended"},
                                                   {Kind::knocked, "knocked"}}};

// The event of a lease that ended in this way.
constexpr EnumTable<Gone, Kind> endings{{{Gone::unknown, Kind::ended},
                                         {Gone::expired, Kind::expired},
                                         {Gone::released, Kind::released},
                                         {Gone::taken, Kind::taken},
                                         {Gone::broken, Kind::broken}}};

}  // namespace

std::string_view name_of(Event::Kind kind) noexcept {
    return names[kind];
}

Event ending_of(const PastLease& past, Time store_now) {
    return {.kind = endings[past.how],
            .lease = past.lease,
            .store_now = store_now,
            .ended_at = past.ended_at,
            .by = past.by,
            .why = past.why};
}

}  // namespace leasehold::server
