#include "server/names.hpp"

namespace leasehold::server {

std::string_view name_of(StoreFault::Cause cause) noexcept {
    switch (cause) {
        case StoreFault::Cause::unavailable: return "unavailable";
        case StoreFault::Cause::clock_leap: return "clock_leap";
        case StoreFault::Cause::configuration: return "configuration";
        case StoreFault::Cause::not_allowed: return "not_allowed";
        case StoreFault::Cause::internal: return "internal";
        case StoreFault::Cause::lock_id_in_use: return "lock_id_in_use";
    }
    return {};
}

std::string_view name_of(StoreFault::Effect effect) noexcept {
    return effect == StoreFault::Effect::unknown ? "unknown" : "none";
}

std::string_view name_of(ConnectionEvent event) noexcept {
    switch (event) {
        case ConnectionEvent::accepted: return "accepted";
        case ConnectionEvent::ended: return "ended";
        case ConnectionEvent::turned_away: return "turned_away";
        case ConnectionEvent::accepting_paused: return "accepting_paused";
        case ConnectionEvent::no_handshake: return "no_handshake";
        case ConnectionEvent::slow_header: return "slow_header";
        case ConnectionEvent::slow_body: return "slow_body";
        case ConnectionEvent::slow_reader: return "slow_reader";
        case ConnectionEvent::idle: return "idle";
    }
    return {};
}

}  // namespace leasehold::server
