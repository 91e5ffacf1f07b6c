#include "server/monitoring/names.hpp"

#include "core/enum_names.hpp"
#include "core/enum_table.hpp"

namespace leasehold::server {
namespace {

constexpr EnumTable<ConnectionEvent, std::string_view> event_names{
    {{ConnectionEvent::accepted, "accepted"},
     {ConnectionEvent::ended, "ended"},
     {ConnectionEvent::turned_away, "turned_away"},
     {ConnectionEvent::accepting_paused, "accepting_paused"},
     {ConnectionEvent::no_handshake, "no_handshake"},
     {ConnectionEvent::slow_header, "slow_header"},
     {ConnectionEvent::slow_body, "slow_body"},
     {ConnectionEvent::slow_reader, "slow_reader"},
     {ConnectionEvent::idle, "idle"}}};

}  // namespace

std::string_view name_of(StoreFault::Cause cause) noexcept {
    return cause_names[cause];
}

std::string_view name_of(StoreFault::Effect effect) noexcept {
    return effect_names[effect];
}

std::string_view name_of(ConnectionEvent event) noexcept {
    return event_names[event];
}

}  // namespace leasehold::server
