#include "stores/http/line.hpp"

#include <boost/json/object.hpp>

#include <algorithm>
#include <optional>
#include <utility>

#include "stores/http/answers.hpp"
#include "stores/http/server_connection.hpp"
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

Outcome answer_in(const std::string& server, const TryLock& wanted, const Response& response) {
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
    return outcome;
}

}  // namespace

Outcome Line::wait(const TryLock& wanted, Duration patience, const std::stop_token& stop) {
    ServerConnection connection{target_, io_timeout_};
    try {
        for (;;) {
            const Duration wait = std::min(patience, longest_wait_.load());
            const Response response =
                connection.wait_for({.method = net::Method::post,
                                     .path = path_of(wanted.key),
                                     .body = body_of(wanted, wait),
                                     .headers = {{"Lock-Token", wanted.lock_id.to_string()}},
                                     .effect_once_sent = effect},
                                    wait, stop);
            const auto longest = longest_wait_in(response);
            if (!longest || *longest >= wait)
                return answer_in(connection.server(), wanted, response);
            longest_wait_ = *longest;
        }
    } catch (const BadRequest& bad) {
        throw not_understood(connection.server(), effect, bad.what());
    }
}

}  // namespace leasehold::http
