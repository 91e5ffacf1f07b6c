#include "server/v1/service.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/json/array.hpp>

#include <string>
#include <utility>

#include "server/counted.hpp"
#include "server/http/assets.hpp"
#include "server/http/bodies.hpp"
#include "server/http/site.hpp"
#include "server/monitoring/metrics.hpp"
#include "server/store/asking.hpp"
#include "server/v1/description.hpp"
#include "wire/messages.hpp"

namespace leasehold::server {
namespace {

namespace json = boost::json;

Reply wrong_method(Resource resource) {
    const std::string_view allowed = methods_of(resource);
    Reply reply =
        problem(405, "method_not_allowed", "this URL takes " + std::string{allowed} + " only");
    reply.allow = allowed;
    return reply;
}

// HEAD is a GET whose answer is not sent.
Method meant_by(Method method) {
    return method == Method::head ? Method::get : method;
}

// What is being handled.
Reply reply_to_exception() {
    try {
        throw;
    } catch (Refused& refused) {
        return std::move(refused.reply);
    } catch (const BadRequest& bad) {
        return problem(400, "bad_request", bad.what());
    } catch (const StoreFault& fault) {
        return problem(fault);
    } catch (const std::exception&) {
        return problem(500, "internal", "the server could not answer this request");
    }
}

void counted_or_failed(const std::exception_ptr& error, const std::optional<HeldCount>&) {
    rethrow(error);
}

bool takes_no_query(Resource resource, Method method) {
    switch (resource) {
        case Resource::lock: return method != Method::del;
        case Resource::locks:
        case Resource::owner_locks:
        case Resource::history:
        case Resource::statistics:
        case Resource::refused:
        case Resource::events:
        case Resource::console:
        case Resource::console_file:
        case Resource::client_file: return false;
        default: return true;
    }
}

// Whether a holder asks for its own lease.
bool keeps(const Request& request) {
    return std::holds_alternative<Check>(request) || std::holds_alternative<Extend>(request) ||
           std::holds_alternative<Renew>(request);
}

Outcome asked_too_often() {
    return sent_away("this token asks more often than it may; try again in a moment");
}

// How many pages of rows one message may ask for.
constexpr std::size_t pages_at_once = 16;

std::size_t rows_of(const Request& request) {
    if (const auto* list = std::get_if<List>(&request)) return list->limit;
    if (const auto* history = std::get_if<History>(&request)) return history->limit;
    return 0;
}

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
            rows += rows_of(wanted);
            if (rows > pages_at_once * locks.limits().page_rows) {
                throw BadRequest{"all in all a batch asks for at most " +
                                 std::to_string(pages_at_once * locks.limits().page_rows) +
                                 " rows here"};
            }
        } catch (const BadRequest& bad) {
            const auto index = static_cast<std::size_t>(&item - list.get_array().data());
            json::object more;
            more["index"] = index;
            throw Refused{problem(400, "bad_request",
                                  which_of(index, list.get_array().size()) + bad.what(),
                                  std::move(more))};
        }
    }
    return requests;
}

}  // namespace

std::optional<Target> Service::read_header(const HttpRequest& request) const {
    if (auto refusal = site_refusal(request, options_)) throw Refused{*std::move(refusal)};
    return read_target(request.target);
}

void Service::let_in(HttpRequest& request, const Target& target, const Connection& connection) {
    const Method method = meant_by(request.method);
    const auto rule = rule_of(target.resource, method, request.lock_token.has_value());
    if (!rule) throw Refused{wrong_method(target.resource)};
    if (std::exchange(request.let_in, true)) return access_.admit_again(request, rule->need);
    access_.admit(request, *rule, connection);
    if (takes_no_query(target.resource, method)) target.query.refuse_all_but({});
}

std::optional<Reply> Service::refusal_before(std::optional<std::uint64_t> body_bytes,
                                             HttpRequest& request, const Connection& connection) {
    Reply reply;
    std::optional<Resource> resource;
    try {
        const auto target = read_header(request);
        if (target) {
            resource = target->resource;
            let_in(request, *target, connection);
            if (body_bytes > 0U) refuse_unless_json(request);
            return std::nullopt;
        }
        reply = not_found();
    } catch (...) {
        reply = reply_to_exception();
    }
    permit_origin(reply, request, options_);
    reply.resource = resource;
    return reply;
}

void Service::use(std::shared_ptr<const Tokens> tokens) {
    access_.use(std::move(tokens));
    reporter_.end_if([this](const Token& token) { return !access_.admits(token, Need::see); });
    room_.send_away_unwelcome();
}

Task<Reply> Service::answer(HttpRequest& request, Connection& connection) {
    const Counted counted{under_way_};
    Reply reply;
    std::optional<Resource> resource;
    try {
        const auto target = read_header(request);
        if (is_preflight(request, options_)) {
            reply = preflight_reply();
        } else if (target) {
            resource = target->resource;
            reply = co_await perform(request, *target, connection);
        } else {
            reply = not_found();
        }
    } catch (...) {
        reply = reply_to_exception();
    }
    if (statistics_.count_is_due()) {
        const Executor executor = co_await asio::this_coro::executor;
        asio::co_spawn(executor, count_held(), counted_or_failed);
    }
    permit_origin(reply, request, options_);
    reply.resource = resource;
    co_return reply;
}

Task<Reply> Service::perform(HttpRequest& request, const Target& target, Connection& connection) {
    const Method method = meant_by(request.method);
    const bool has_body = method == Method::post || method == Method::patch;
    if (!has_body && !request.body.empty()) throw BadRequest{"this request takes no body"};
    let_in(request, target, connection);
    // With a method that it takes.
    switch (target.resource) {
        case Resource::lock:
            if (method == Method::post) return try_lock(request, target, connection);
            if (method == Method::patch) return prolong(request, target);
            if (method == Method::del) return release(request, target);
            return look(request, target);
        case Resource::batch: return batch(request);
        case Resource::lock_break: return break_lock(request, target);
        case Resource::lock_knock: return knock(request, target);
        case Resource::owner_locks: return release_all(request, target);
        case Resource::locks: return list(target);
        case Resource::history: return history(target);
        case Resource::statistics: return statistics(target);
        case Resource::refused: return refused(target);
        case Resource::events: return events(request, target);
        case Resource::token: return at_once(token(request));
        case Resource::readiness: return ready();
        case Resource::health: return at_once({.body = R"({"status":"ok"})"});
        case Resource::metrics:
            return options_.metrics != nullptr ? metrics() : at_once(not_found());
        case Resource::description: return at_once({.body = std::string{description}});
        case Resource::console: return at_once(asset_reply("/", request));
        case Resource::console_file:
            return at_once(asset_reply("/console/" + target.names.at(0), request));
        case Resource::client_file:
            return at_once(asset_reply("/client/" + target.names.at(0), request));
    }
    return at_once(not_found());
}

Reply Service::token(const HttpRequest& request) {
    const Token everybody{.roles = {Role::use, Role::see, Role::break_}};
    const Token& token = request.token ? *request.token : everybody;
    json::array roles;
    for (const Role role : {Role::use, Role::see, Role::break_}) {
        if (token.roles.has(role)) roles.emplace_back(name_of(role));
    }
    json::object body;
    body["name"] = request.token ? json::value(token.name) : json::value(nullptr);
    body["roles"] = std::move(roles);
    body["owner"] = token.owner.empty() ? json::value(nullptr) : json::value(token.owner);
    return json_reply(200, body);
}

Task<Reply> Service::at_once(Reply reply) {
    co_return reply;
}

Task<Reply> Service::ready() {
    const auto failure = co_await readiness_.failure();
    if (failure) {
        // Everybody may ask: what the database said stands in the log.
        co_return problem(StoreFault{failure->effect, failure->cause,
                                     "the store does not answer; the server's log says why"});
    }
    const StoreStatus status = locks_.status();
    json::object store;
    store["name"] = status.name;
    store["durability"] = to_string(status.durability);
    store["warnings"] = json::array(status.warnings.begin(), status.warnings.end());
    json::object body;
    body["status"] = "ready";
    body["store"] = std::move(store);
    co_return json_reply(200, body);
}

Task<Reply> Service::metrics() {
    auto held = co_await count_held();
    const StoreQueue::Queues queues = store_.queues();
    const Levels now{.requests = under_way_,
                     .with_store = queues.under_way,
                     .queued_keeps = queues.keeps,
                     .queued_tries = queues.tries,
                     .waiters = room_.waiting(),
                     .lines = room_.lines(),
                     .listeners = reporter_.listeners(),
                     .held = held,
                     .store = locks_.status()};
    Reply reply{.body = options_.metrics->text(now, options_)};
    reply.content_type = Metrics::content_type;
    co_return reply;
}

Task<Reply> Service::batch(HttpRequest& request) {
    std::vector<Request> requests = read_batch(request, locks_, options_);
    AccessControl::admit_all(request, requests);
    const AccessControl::Open open = access_.pass(request, requests);
    std::vector<bool> passed;
    std::vector<bool> by_holder;
    for (const Request& one : requests) {
        passed.push_back(open.is_for(one));
        by_holder.push_back(keeps(one));
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

}  // namespace leasehold::server
