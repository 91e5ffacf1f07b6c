#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace leasehold::server {

// The body of a reply that is sent piece by piece for as long as the connection lasts.
class BodyStream {
public:
    enum class State : std::uint8_t {
        open,
        lost,   // the client was too slow and must ask again
        ended,  // everything has been sent
    };

    BodyStream() = default;
    BodyStream(const BodyStream&) = delete;
    BodyStream& operator=(const BodyStream&) = delete;
    virtual ~BodyStream() = default;

    // Sets the function that is called, on any thread, when there is more to take or the state has
    // changed.
    virtual void on_news(std::function<void()> wake) = 0;

    // Appends what there is to send, possibly not all of it at once.
    virtual State take(std::string& out) = 0;
    [[nodiscard]] virtual State state() const = 0;
    // Ends the stream if its client may no longer receive it.
    virtual void end_if_revoked() = 0;
    // Appends a few bytes that keep an idle connection in use.
    virtual void print_heartbeat(std::string& out) const = 0;
};

}  // namespace leasehold::server
