#include "server/v1/server_sent_events.hpp"

#include <boost/json/object.hpp>

#include "wire/messages.hpp"

namespace leasehold::server::v1 {
namespace {

// Has the same fields for a lease and its end as every other answer.
boost::json::object object_of(const Event& event) {
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
        case Event::Kind::released:
        case Event::Kind::expired:
        case Event::Kind::taken:
        case Event::Kind::broken:
        case Event::Kind::ended:
            object["ended_at"] = wire::to_json(event.ended_at);
            object["by"] = event.by;
            object["why"] = event.why;
    }
    return object;
}

class ServerSentEvents final : public EventFormat {
public:
    void begin(std::string& out, std::string_view id, Since since) const override {
        out.append("retry: 2000\nid: ").append(id).append("\n");
        if (since == Since::missed) out.append(reset);
        out.append("\n");
    }
    void event(std::string& out, std::string_view id, const Event& event) const override {
        out.append("id: ").append(id).append("\nevent: ").append(name_of(event.kind));
        out.append("\ndata: ");
        wire::print(out, object_of(event));
        out.append("\n\n");
    }
    void heartbeat(std::string& out, std::string_view id) const override {
        out.append(": still here\nid: ").append(id).append("\n\n");
    }
    void end(std::string& out, End why) const override {
        out.append(why == End::server_stops ? ": the server is stopping\n\n"
                                            : ": this token may no longer listen to events\n\n");
    }

private:
    static constexpr std::string_view reset =
        "event: reset\n"
        R"(data: {"event":"reset","detail":"some events may have been missed: read the list again"})"
        "\n";
};

}  // namespace

const EventFormat& server_sent_events() {
    static const ServerSentEvents format;
    return format;
}

}  // namespace leasehold::server::v1
