#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "server/events/event.hpp"

namespace leasehold::server {

// How a protocol writes a stream of events. Every function appends to `out`. An id is the place of
// an event in the stream; a client that reconnects sends the last one that it has received. Lives
// as long as the program. Thread-safe.
class EventFormat {
public:
    EventFormat() = default;
    EventFormat(const EventFormat&) = delete;
    EventFormat& operator=(const EventFormat&) = delete;
    virtual ~EventFormat() = default;

    // `missed`: the client may have missed events, and must read the list again.
    enum class Since : std::uint8_t { nothing_missed, missed };
    virtual void begin(std::string& out, std::string_view id, Since since) const = 0;
    virtual void event(std::string& out, std::string_view id, const Event& event) const = 0;
    // The client has read up to this id, also past events that it did not want.
    virtual void heartbeat(std::string& out, std::string_view id) const = 0;
    // Why the stream ends.
    enum class End : std::uint8_t { server_stops, token_revoked };
    virtual void end(std::string& out, End why) const = 0;
};

}  // namespace leasehold::server
