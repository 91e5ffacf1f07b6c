#include <algorithm>
#include <string>
#include <utility>

#include "core/text.hpp"
#include "server/http/bodies.hpp"
#include "server/v1/native.hpp"
#include "server/v1/problems.hpp"
#include "wire/messages.hpp"

namespace leasehold::server::v1 {
namespace {

constexpr std::string_view event_stream = "text/event-stream";

// Whether an Accept field admits an event stream.
bool accepts_events(std::string_view accept) {
    while (!accept.empty()) {
        const std::size_t comma = std::min(accept.find(','), accept.size());
        const std::string range = media_type(accept.substr(0, comma));
        if (range == event_stream || range == "text/*" || range == "*/*") return true;
        accept.remove_prefix(std::min(comma + 1, accept.size()));
    }
    return false;
}

std::string checked(std::string_view what, std::string text, std::size_t max_bytes, Lines lines) {
    if (auto problem = text_problem(what, text, max_bytes, lines)) throw BadRequest{*problem};
    return text;
}

Knock read_knock(HttpRequest& request) {
    const boost::json::object body = optional_fields(request);
    wire::Fields fields{body, "the body"};
    Knock knock{
        .by = checked("the owner", fields.optional_text("owner").value_or(""), Limits::owner_bytes,
                      Lines::one),
        .message = checked("the message", fields.text("message"), Limits::note_bytes, Lines::many)};
    fields.refuse_others();
    if (knock.message.empty()) throw BadRequest{"the body: \"message\" must say something"};
    return knock;
}

}  // namespace

Task<Reply> Native::knock(RoutedRequest& request) {
    refuse_token(request.http);
    const LockKey key = request.key();
    Knock knock = read_knock(request.http);
    AccessControl::admit(request.http, knock.by);
    Request question = Holders{key};
    const Outcome outcome = co_await store_.ask(std::move(question), Told::nobody);
    if (const auto* fault = std::get_if<StoreFault>(&outcome)) co_return reply_to(*fault);
    const auto* holders = std::get_if<HolderPage>(&outcome);
    if (holders == nullptr || holders->empty()) {
        throw Refused{
            {.status = 404, .code = "not_held", .detail = "nobody holds this key: try to lock it"}};
    }
    knock.at = holders->store_now;
    if (const auto wait = knocks_.add(key, holders->items, knock)) {
        throw Refused{too_often("the holder has just been asked: wait a moment", *wait)};
    }
    for (const Holder& holder : *holders) {
        reporter_.knocked({.kind = Event::Kind::knocked,
                           .lease = holder,
                           .store_now = knock.at,
                           .by = knock.by,
                           .why = knock.message});
    }
    co_return json_reply(202, wire::to_json(outcome));
}

void Native::put_knocks(boost::json::object& lease_json, const Lease& lease) const {
    const std::vector<Knock> knocks = knocks_.on(lease.key, lease.fence);
    if (!knocks.empty()) lease_json["knocks"] = to_json(knocks);
}

Task<Reply> Native::events(RoutedRequest& request) {
    HttpRequest& http = request.http;
    if (!http.accept.empty() && !accepts_events(http.accept)) {
        throw Refused{{.status = 406,
                       .code = "not_acceptable",
                       .detail = "events come as text/event-stream only"}};
    }
    EventFilter filter{.type = request.query.text("type"),
                       .id = request.query.text("id"),
                       .owner = request.query.text("owner"),
                       .scope = request.query.scope()};
    Reply reply{.content_type = event_stream, .open_ended = true};
    if (http.method == "HEAD") co_return reply;
    auto opened = co_await reporter_.open(std::move(filter), http.last_event_id, http.token);
    if (!opened) co_return reply_to(opened.error());
    access_.admit_again(http, Need::see, bearer);
    reply.stream = *std::move(opened);
    co_return reply;
}

}  // namespace leasehold::server::v1
