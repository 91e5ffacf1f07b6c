#include "stores/http/knock.hpp"

#include <boost/json/object.hpp>

#include <utility>

#include "stores/http/answers.hpp"
#include "wire/messages.hpp"

namespace leasehold::http {

std::expected<HolderPage, KnockRefused> knock(const ServerAddress& target, Duration io_timeout,
                                              const LockKey& key, const Knock& knock) {
    boost::json::object body;
    body["owner"] = knock.owner;
    body["message"] = knock.message;

    ServerConnection connection{target, io_timeout};
    const auto effect = StoreFault::Effect::unknown;
    const Response response =
        connection.wait_for({.method = net::Method::post,
                             .path = path_of(key) + "/knock",
                             .body = wire::print(body),
                             .headers = {{"Accept-Language", std::string{tag_of(knock.language)}}},
                             .effect_once_sent = effect},
                            {}, {});
    try {
        if (response.status == 404 || response.status == 429) {
            const auto problem = problem_in(response);
            KnockRefused refused{.code = field_of(problem, "code"),
                                 .detail = field_of(problem, "detail")};
            // Other codes come from a server that does not support knocks or does not know us.
            if (refused.code == "not_held" || refused.code == "too_many_requests") {
                return std::unexpected{std::move(refused)};
            }
        }
        Outcome outcome = wire::outcome_from(understood(connection.server(), response, effect));
        require_fit(Holders{key}, outcome);
        return std::get<HolderPage>(std::move(outcome));
    } catch (const BadRequest& bad) {
        throw not_understood(connection.server(), effect, bad.what());
    }
}

}  // namespace leasehold::http
