#include "server/events/event.hpp"

#include "wire/messages.hpp"

namespace leasehold::server {
namespace {

Event::Kind kind_of(Gone how) {
    switch (how) {
        case Gone::expired: return Event::Kind::expired;
        case Gone::released: return Event::Kind::released;
        case Gone::taken: return Event::Kind::taken;
        case Gone::broken: return Event::Kind::broken;
        case Gone::unknown: break;
    }
    return Event::Kind::ended;
}

}  // namespace

std::string_view name_of(Event::Kind kind) noexcept {
    switch (kind) {
        case Event::Kind::granted: return "granted";
        case Event::Kind::extended: return "extended";
        case Event::Kind::released: return "released";
        case Event::Kind::expired: return "expired";
        case Event::Kind::taken: return "taken";
        case Event::Kind::broken: return "broken";
        case Event::Kind::ended: return "ended";
        case Event::Kind::knocked: return "knocked";
    }
    return {};
}

Event ending_of(const PastLease& past, Time store_now) {
    return {.kind = kind_of(past.how),
            .lease = past.lease,
            .store_now = store_now,
            .ended_at = past.ended_at,
            .by = past.by,
            .why = past.why};
}

boost::json::object to_json(const Event& event) {
    boost::json::object object = wire::to_json(event.lease);
    object["event"] = name_of(event.kind);
    object["store_now"] = wire::to_json(event.store_now);
    switch (event.kind) {
        case Event::Kind::granted:
        case Event::Kind::extended: break;
        case Event::Kind::knocked:
            object["by"] = event.by;
            object["message"] = event.why;
            break;
        default:
            object["ended_at"] = wire::to_json(event.ended_at);
            object["by"] = event.by;
            object["why"] = event.why;
    }
    return object;
}

}  // namespace leasehold::server
