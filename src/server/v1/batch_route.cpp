#include <boost/json/array.hpp>

#include <string>
#include <utility>

#include "server/http/bodies.hpp"
#include "server/v1/native.hpp"
#include "wire/messages.hpp"

namespace leasehold::server::v1 {
namespace {

namespace json = boost::json;

// Whether a holder asks for its own lease.
bool is_by_holder(const Request& request) {
    const RequestKind kind = kind_of(request);
    return kind == RequestKind::check || prolongs(kind);
}

Outcome asked_too_often() {
    return not_sent("this token exceeds its request rate; try again in a moment");
}

// The number of pages of rows that one batch may ask for.
constexpr std::size_t pages_at_once = 16;

std::vector<Request> read_batch(HttpRequest& request, const LockManager& locks,
                                const ServerOptions& options) {
    json::value body = json_body(request);
    wire::Fields fields{body, "the body"};
    (void)fields.required("requests");
    fields.refuse_others();
    json::value& list = body.get_object()["requests"];
    if (!list.is_array()) throw BadRequest{"the body: \"requests\" must be an array"};
    if (list.get_array().size() > options.batch_requests) {
        throw BadRequest{"a batch has at most " + std::to_string(options.batch_requests) +
                         " requests here"};
    }
    std::vector<Request> requests;
    requests.reserve(list.get_array().size());
    std::size_t rows = 0;
    for (json::value& item : list.get_array()) {
        try {
            Request& wanted =
                requests.emplace_back(wire::request_from(item, locks.limits().default_ttl));
            if (request.token) sign(wanted, *request.token);
            locks.validate(wanted);
            rows += rows_asked_for(wanted);
            if (rows > pages_at_once * locks.limits().page_rows) {
                throw BadRequest{"a batch may ask for at most " +
                                 std::to_string(pages_at_once * locks.limits().page_rows) +
                                 " rows in total here"};
            }
        } catch (const BadRequest& bad) {
            const auto index = static_cast<std::size_t>(&item - list.get_array().data());
            json::object more;
            more["index"] = index;
            throw Refused{{.status = 400,
                           .code = "bad_request",
                           .detail = position_in_batch(index, list.get_array().size()) + bad.what(),
                           .facts = std::move(more)}};
        }
    }
    return requests;
}

}  // namespace

Task<Reply> Native::batch(RoutedRequest& request) {
    std::vector<Request> requests = read_batch(request.http, locks_, options_);
    AccessControl::admit_all(request.http, requests);
    const AccessControl::Open open = access_.pass(request.http, requests);
    std::vector<bool> passed;
    std::vector<bool> by_holder;
    for (const Request& one : requests) {
        passed.push_back(open.is_for(one));
        by_holder.push_back(is_by_holder(one));
    }
    std::erase_if(requests, [&](const Request& one) { return !open.is_for(one); });
    const std::vector<Outcome> outcomes = co_await store_.ask_all(std::move(requests));
    json::array answers;
    answers.reserve(passed.size());
    auto next = outcomes.begin();
    for (std::size_t i = 0; i < passed.size(); ++i) {
        const Outcome outcome = passed[i] ? *next++ : asked_too_often();
        json::object answer = wire::to_json(outcome);
        if (const auto* lease = std::get_if<Lease>(&outcome); lease != nullptr && by_holder[i]) {
            put_knocks(answer["lease"].as_object(), *lease);
        }
        answers.emplace_back(std::move(answer));
    }
    json::object reply;
    reply["answers"] = std::move(answers);
    co_return json_reply(200, reply);
}

}  // namespace leasehold::server::v1
