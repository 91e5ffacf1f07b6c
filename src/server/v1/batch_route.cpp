#include <boost/asio/post.hpp>
#include <boost/json/array.hpp>

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "server/http/bodies.hpp"
#include "server/v1/native.hpp"
#include "server/v1/query.hpp"
#include "wire/messages.hpp"

namespace leasehold::server::v1 {
namespace {

namespace json = boost::json;

// The refusal of a batch as the native protocol writes it: the detail and the facts name the
// requests.
Problem problem_of(const BatchRefused& refused, std::size_t requests) {
    Problem problem = refused.problem;
    const std::size_t first = refused.indices.front();
    if (requests > 1) {
        problem.detail.put_before("requests[" + std::to_string(first) + "]: ");
    }
    problem.facts["index"] = first;
    if (problem.status == 403) {
        problem.facts["refused"] = json::array(refused.indices.begin(), refused.indices.end());
    }
    return problem;
}

// The number of pages of rows that one batch may ask for.
constexpr std::size_t pages_at_once = 16;

// The most rows of the page that answers the request; 0 if no page does.
std::size_t rows_of_page(const Request& request, const Limits& limits) {
    if (kind_of(request) == RequestKind::holders) return limits.page_rows;
    return rows_asked_for(request);
}

// The room that the answer to these requests may need; 0 if all of them keep or end leases.
std::size_t bytes_of_rows(std::span<const Request> requests, const Limits& limits,
                          std::size_t most) {
    std::size_t bytes = 0;
    for (const Request& request : requests) {
        if (keeps_or_ends_leases(request)) continue;
        bytes += room_for(1 + rows_of_page(request, limits));
    }
    return std::min(bytes, most);
}

json::array& requests_in(json::value& body, const ServerOptions& options) {
    wire::Fields fields{body, "the body"};
    (void)fields.required("requests");
    fields.refuse_others();
    json::value& list = body.get_object()["requests"];
    if (!list.is_array()) throw BadRequest{"the body: \"requests\" must be an array"};
    if (list.get_array().size() > options.batch_requests) {
        throw BadRequest{"a batch has at most " + std::to_string(options.batch_requests) +
                         " requests here"};
    }
    return list.get_array();
}

// Throws BatchRefused for a request that cannot be read.
std::vector<Request> read_batch(json::array& list, const Backend& backend) {
    const std::size_t most_rows = pages_at_once * backend.limits().page_rows;
    const std::size_t most_keys =
        std::max(backend.options().batch_requests, backend.limits().keys_at_once);
    std::vector<Request> requests;
    requests.reserve(list.size());
    std::size_t rows = 0;
    std::size_t keys = 0;
    for (json::value& item : list) {
        try {
            const Request& wanted =
                requests.emplace_back(wire::request_from(item, backend.limits().default_ttl));
            if (const auto* all = std::get_if<TryLockAll>(&wanted)) keys += all->keys.size();
            if (keys > most_keys) {
                throw BadRequest{"the try_all requests of a batch may name at most " +
                                 std::to_string(most_keys) + " keys in total here"};
            }
            const std::size_t more = rows_of_page(wanted, backend.limits());
            if (more == 0) continue;
            backend.validate(wanted);
            rows += more;
            if (rows > most_rows) {
                throw BadRequest{"a batch may ask for at most " + std::to_string(most_rows) +
                                 " rows in total here"};
            }
        } catch (const BadRequest& bad) {
            throw BatchRefused{{.status = 400, .code = "bad_request", .detail = bad.what()},
                               {static_cast<std::size_t>(&item - list.data())}};
        }
    }
    return requests;
}

}  // namespace

Task<Reply> Native::batch(RoutedRequest& request) {
    check_body_type(request.http);  // also if the body is empty: a batch without a body is an error
    json::value body = json_body(request.http);
    json::array& list = requests_in(body, options_);
    const std::size_t size = list.size();
    std::vector<RequestKind> kinds;
    std::vector<Outcome> outcomes;
    const MemoryBudget::Share share = backend_.reserve_batch(request, size);
    try {
        std::vector<Request> requests = read_batch(list, backend_);
        body = nullptr;  // frees its memory while the store works
        for (const Request& one : requests) kinds.push_back(kind_of(one));
        const std::size_t rows_bytes = room_for_rows(request, requests);
        outcomes = co_await backend_.ask_all(request, std::move(requests), rows_bytes);
    } catch (const BatchRefused& refused) {
        throw Refused{problem_of(refused, size)};
    }
    const Language language = request.http.language();
    Reply reply{.language = language};
    reply.body = R"({"answers":[)";
    std::size_t yielded_at = 0;
    std::size_t room_for_knocks = knocks_bytes;
    std::size_t room_for_ended = options_.answer_bytes;
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
        if (i > 0) reply.body += ',';
        const Outcome outcome = std::exchange(outcomes[i], {});  // frees its memory soon
        const auto* const leases = std::get_if<std::vector<Lease>>(&outcome);
        if (keeps_own_lease(kinds[i])) {
            print_for_holder(reply.body, outcome, language, room_for_knocks);
        } else if (kinds[i] == RequestKind::release_all && leases != nullptr) {
            co_await print_ended(reply.body, *leases, room_for_ended);
        } else {
            wire::print(reply.body, outcome, language);
        }
        if (reply.body.size() - yielded_at < bytes_between_yields) continue;
        yielded_at = reply.body.size();
        co_await asio::post(use_task);  // answers others in between
    }
    reply.body += "]}";
    co_return reply;
}

std::size_t Native::room_for_rows(RoutedRequest& request, std::span<const Request> wanted) {
    const std::size_t most = options_.answer_bytes;
    const std::size_t bytes = bytes_of_rows(wanted, limits_, most);
    if (bytes == 0) return most;
    // Renewals and releases are carried out in any case, if need be without the rows beside them.
    if (std::ranges::any_of(wanted, keeps_or_ends_leases)) {
        return backend_.try_to_reserve_answer(request, bytes) ? most : 0;
    }
    backend_.reserve_answer(request, bytes);
    return most;
}

void Native::print_for_holder(std::string& out, const Outcome& outcome, Language language,
                              std::size_t& room) const {
    const auto* const lease = std::get_if<Lease>(&outcome);
    if (lease == nullptr) return wire::print(out, outcome, language);
    const std::vector<Knock> knocks = backend_.knocks_on(*lease);
    if (knocks.empty()) return wire::print(out, outcome);
    json::object answer = wire::to_json(outcome);
    put_knocks(answer["lease"].as_object(), knocks, room);
    wire::print(out, answer);
}

}  // namespace leasehold::server::v1
