#include <algorithm>
#include <string>
#include <utility>

#include "core/knocks.hpp"
#include "core/sizes.hpp"
#include "core/text.hpp"
#include "server/http/bodies.hpp"
#include "server/http/phrases.hpp"
#include "server/v1/lock_token.hpp"
#include "server/v1/native.hpp"
#include "server/v1/problems.hpp"
#include "server/v1/query.hpp"
#include "server/v1/server_sent_events.hpp"
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
    if (knock.message.empty()) throw BadRequest{"the body: \"message\" must not be empty"};
    return knock;
}

// An answer to a holder names the latest knocks on a lease that fit into this many bytes. One knock
// always fits if the answer has room for it.
constexpr std::size_t knocks_bytes_of_a_lease = 8 * 1024;

std::size_t size_of(const Knock& knock) {
    return row_bytes + bytes_in_json(knock.by) + bytes_in_json(knock.message);
}

}  // namespace

Task<Reply> Native::knock(RoutedRequest& request) {
    refuse_lock_token(request.http);
    LockKey key = request.key();
    Knock knock = read_knock(request.http);
    const auto holders = co_await backend_.knock(request, std::move(key), std::move(knock));
    if (!holders) co_return reply_to(holders.error());
    if (holders->empty()) {
        throw Refused{{.status = 404, .code = "not_held", .detail = phrases::not_held}};
    }
    const Outcome outcome = *holders;
    co_return json_reply(202, wire::to_json(outcome));
}

void Native::put_knocks(boost::json::object& lease_json, std::span<const Knock> knocks,
                        std::size_t& room) {
    const std::size_t for_this_lease = std::min(room, knocks_bytes_of_a_lease);
    std::size_t bytes = 0;
    std::size_t first = knocks.size();
    while (first > 0 && bytes + size_of(knocks[first - 1]) <= for_this_lease) {
        bytes += size_of(knocks[--first]);
    }
    room -= bytes;
    boost::json::array named;
    for (const Knock& knock : knocks.subspan(first)) {
        boost::json::object one;
        one["by"] = knock.by;
        one["message"] = knock.message;
        one["at"] = wire::to_json(knock.at);
        named.emplace_back(std::move(one));
    }
    lease_json["knocks"] = std::move(named);
    lease_json["knocks_in_all"] = knocks.size();
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
                       .scope = scope_in(request.query)};
    Reply reply{.content_type = event_stream, .open_ended = true};
    std::optional<std::string> last_id{http.fields.find("Last-Event-ID")};
    if (http.method == "HEAD") co_return reply;
    auto opened = co_await backend_.listen(request, std::move(filter), std::move(last_id),
                                           server_sent_events());
    if (!opened) co_return reply_to(opened.error());
    reply.stream = *std::move(opened);
    co_return reply;
}

}  // namespace leasehold::server::v1
