#include <algorithm>
#include <string>
#include <utility>

#include "server/bodies.hpp"
#include "server/service.hpp"

namespace leasehold::server {
namespace {

constexpr std::string_view event_stream = "text/event-stream";

// Whether one of the media ranges of an Accept field is this.
bool accepts_events(std::string_view accept) {
    while (!accept.empty()) {
        const std::size_t comma = std::min(accept.find(','), accept.size());
        const std::string range = media_type(accept.substr(0, comma));
        if (range == event_stream || range == "text/*" || range == "*/*") return true;
        accept.remove_prefix(std::min(comma + 1, accept.size()));
    }
    return false;
}

}  // namespace

Task<Reply> Service::events(const HttpRequest& request, const Target& target) {
    target.query.refuse_all_but({"type", "id", "owner", "scope"});
    if (!request.accept.empty() && !accepts_events(request.accept)) {
        co_return problem(406, "not_acceptable", "events come as text/event-stream only");
    }
    EventFilter filter{.type = target.query.text("type"),
                       .id = target.query.text("id"),
                       .owner = target.query.text("owner"),
                       .scope = target.query.scope()};
    Reply reply{.content_type = event_stream, .open_ended = true};
    if (request.method == Method::head) co_return reply;
    auto opened = co_await reporter_.open(std::move(filter), request.last_event_id);
    if (!opened) co_return problem(opened.error());
    reply.events = *std::move(opened);
    co_return reply;
}

}  // namespace leasehold::server
