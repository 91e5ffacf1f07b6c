#include "stores/http/line.hpp"

#include <boost/json/object.hpp>

#include <algorithm>
#include <optional>
#include <utility>

#include "stores/http/answers.hpp"
#include "wire/messages.hpp"

namespace leasehold::http {
namespace {

namespace json = boost::json;

constexpr auto effect = StoreFault::Effect::unknown;

std::string body_of(const TryLock& wanted, Duration wait) {
    json::object body = wire::to_json(Request{wanted});
    for (const char* in_path_or_header : {"op", "type", "id", "lock_id"}) {
        body.erase(in_path_or_header);
    }
    body["wait_ms"] = wire::to_json(wait);
    return wire::print(body);
}

// The server's longest wait, if it refused ours as too long.
std::optional<Duration> longest_wait_in(const Response& response) {
    if (response.status != 400) return std::nullopt;
    const json::value problem = problem_in(response);
    if (!problem.is_object()) return std::nullopt;
    return wire::Fields{problem, "the server's answer"}.optional_duration("longest_wait_ms");
}

Result<Lease> lease_in(const std::string& server, const TryLock& wanted, const Response& response) {
    json::object answer;
    if (response.status == 409 || response.status == 410) {
        json::value problem = problem_in(response);
        if (problem.is_object() && field_of(problem, "code") != "lock_id_in_use") {
            answer["refused"] = std::move(problem);
        }
    }
    if (answer.empty()) answer["lease"] = understood(server, response, effect);
    Outcome outcome = wire::outcome_from(std::move(answer));
    require_fit(wanted, outcome);
    if (auto* refusal = std::get_if<Refusal>(&outcome)) return std::unexpected{std::move(*refusal)};
    return std::get<Lease>(std::move(outcome));
}

}  // namespace

Result<Lease> Line::try_lock(const TryLock& wanted, Duration patience,
                             const std::stop_token& ended) {
    try {
        for (;;) {
            const Duration wait = std::min(patience, longest_wait_);
            const Response response =
                connection_.wait_for({.method = net::Method::post,
                                      .path = path_of(wanted.key),
                                      .body = body_of(wanted, wait),
                                      .headers = {{"Lock-Token", wanted.lock_id.to_string()}},
                                      .effect_once_sent = effect},
                                     wait, ended);
            const auto longest = longest_wait_in(response);
            if (!longest || *longest >= wait)
                return lease_in(connection_.server(), wanted, response);
            longest_wait_ = *longest;
        }
    } catch (const BadRequest& bad) {
        throw not_understood(connection_.server(), effect, bad.what());
    }
}

}  // namespace leasehold::http
