#include <boost/json/array.hpp>

#include <string>

#include "server/access/tokens.hpp"
#include "server/http/assets.hpp"
#include "server/http/phrases.hpp"
#include "server/monitoring/metrics.hpp"
#include "server/v1/description.hpp"
#include "server/v1/native.hpp"
#include "server/v1/problems.hpp"

// The routes about the server itself: probes, metrics, the description, the console's files,
// the documentation.
namespace leasehold::server::v1 {

namespace json = boost::json;

namespace {

// The keys of each role that the token has only for some keys.
json::object limits_of(const Token* token) {
    json::object keys;
    for (const auto& [role, name] : role_names) {
        if (token == nullptr || !token->roles.has(role)) continue;
        const KeySet& allowed = token->keys.of(role);
        if (allowed.has_every_key()) continue;
        json::array patterns;
        for (const KeyPattern& one : allowed.patterns()) patterns.emplace_back(one.to_string());
        keys[name] = std::move(patterns);
    }
    return keys;
}

}  // namespace

Task<Reply> Native::healthy(RoutedRequest&) {
    co_return Reply{.body = R"({"status":"ok"})"};
}

Task<Reply> Native::ready(RoutedRequest& request) {
    const auto failure = co_await backend_.readiness().failure();
    if (failure) {
        // Anyone may ask, so the text of the database's error is only in the log.
        co_return reply_to(StoreFault{failure->effect, failure->cause,
                                      "the store does not answer; the server's log says why"});
    }
    json::object body;
    body["status"] = "ready";
    if (const auto status = backend_.store_status(request)) {
        json::object store;
        store["name"] = status->name;
        store["durability"] = to_string(status->durability);
        store["warnings"] = json::array(status->warnings.begin(), status->warnings.end());
        body["store"] = std::move(store);
    }
    co_return json_reply(200, body);
}

Task<Reply> Native::metrics(RoutedRequest& request) {
    if (options_.metrics == nullptr) throw Refused{not_found()};
    const Levels now = co_await backend_.levels(request);
    Reply reply{.body = options_.metrics->text(now, options_)};
    reply.content_type = Metrics::content_type;
    co_return reply;
}

Task<Reply> Native::describe(RoutedRequest&) {
    co_return Reply{.static_body = description_};
}

Task<Reply> Native::console(RoutedRequest& request) {
    co_return asset_reply("/", request.http);
}

Task<Reply> Native::console_file(RoutedRequest& request) {
    co_return asset_reply("/console/" + request.names[0], request.http);
}

Task<Reply> Native::client_file(RoutedRequest& request) {
    co_return asset_reply("/client/" + request.names[0], request.http);
}

Task<Reply> Native::documentation(RoutedRequest& request) {
    const std::string_view target = request.http.target;
    if (target.substr(0, target.find('?')) == "/docs") {
        (void)documentation_.reply("", request.http);
        co_return Reply{.status = 308, .fields = "Location: /docs/\r\n"};
    }
    co_return documentation_.reply(request.names[0], request.http);
}

Task<Reply> Native::token(RoutedRequest& request) {
    const auto& token = request.http.token;
    json::array roles;
    for (const auto& [role, name] : role_names) {
        // A server without tokens allows every client everything.
        if (!token || token->roles.has(role)) roles.emplace_back(name);
    }
    const bool has_owner = token && !token->owner.empty() && token->owner != any_owner;
    json::object body;
    body["name"] = token ? json::value(token->name) : json::value(nullptr);
    body["roles"] = std::move(roles);
    body["owner"] = has_owner ? json::value(token->owner) : json::value(nullptr);
    json::array quotas;
    if (token) {
        backend_.quotas_of(*token).for_each([&](Quota quota, const QuotaUse& use) {
            json::object one;
            one["quota"] = quota_traits[quota].name;
            one["used"] = use.used;
            one["limit"] = use.limit > 0 ? json::value(use.limit) : json::value(nullptr);
            quotas.emplace_back(std::move(one));
        });
    }
    body["quotas"] = std::move(quotas);
    json::object keys = limits_of(token.get());
    if (!keys.empty()) body["keys"] = std::move(keys);
    co_return json_reply(200, body);
}

Task<Reply> Native::server(RoutedRequest& request) {
    const auto& token = request.http.token;
    if (token && !token->keys.of(Role::break_).has_every_key()) {
        throw Refused{{.status = 403,
                       .code = "forbidden",
                       .detail = {phrases::no_findings, {{"token", token->name}}}}};
    }
    json::array findings;
    if (options_.findings) {
        for (const Finding& finding : options_.findings()) {
            json::object one;
            one["verdict"] = verdict_names[finding.verdict];
            one["about"] = finding.about;
            one["text"] = finding.text;
            one["advice"] = finding.advice;
            findings.emplace_back(std::move(one));
        }
    }
    json::object body;
    body["findings"] = std::move(findings);
    co_return json_reply(200, body);
}

}  // namespace leasehold::server::v1
