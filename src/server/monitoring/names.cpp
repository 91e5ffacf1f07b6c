#include "server/monitoring/names.hpp"

#include "wire/words.hpp"

namespace leasehold::server {

std::string_view name_of(StoreFault::Cause cause) noexcept {
    return wire::name_of(cause, wire::causes);
}

std::string_view name_of(StoreFault::Effect effect) noexcept {
    return wire::name_of(effect, wire::effects);
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
