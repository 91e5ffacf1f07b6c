#include "server/service.hpp"

#include <boost/json/array.hpp>

#include <algorithm>
#include <string>
#include <utility>

#include "server/store_call.hpp"
#include "wire/messages.hpp"

namespace leasehold::server {
namespace {

namespace json = boost::json;

Reply not_found() {
    return problem(404, "not_found", "there is nothing under this URL");
}

Reply wrong_method(std::string_view allowed) {
    Reply reply =
        problem(405, "method_not_allowed", "this URL takes " + std::string{allowed} + " only");
    reply.allow = allowed;
    return reply;
}

// Thrown where the request cannot be answered as it was meant; ends in Service::answer.
struct Unanswerable {
    Reply reply;
};

json::value json_body(const HttpRequest& request) {
    std::string type = request.content_type.substr(0, request.content_type.find(';'));
    type.erase(type.find_last_not_of(" \t") + 1);
    std::ranges::transform(type, type.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    if (type != "application/json") {
        throw Unanswerable{problem(415, "unsupported_media_type",
                                   "the body must be JSON, with Content-Type: application/json")};
    }
    return wire::parse(request.body);
}

}  // namespace

Task<Reply> Service::answer(HttpRequest& request) {
    Reply reply;
    try {
        reply = co_await route(request);
    } catch (Unanswerable& unanswerable) {
        reply = std::move(unanswerable.reply);
    } catch (const BadRequest& bad) {
        reply = problem(400, "bad_request", bad.what());
    } catch (const StoreFault& fault) {
        reply = problem(fault);
    } catch (const std::exception&) {
        reply = problem(500, "internal", "the server could not answer this request");
    }
    co_return reply;
}

Task<Reply> Service::route(HttpRequest& request) {
    const std::string_view path =
        std::string_view{request.target}.substr(0, request.target.find('?'));
    const bool reads = request.method == Method::get || request.method == Method::head;
    if (path == "/v1/batch") {
        if (request.method != Method::post) co_return wrong_method("POST");
        co_return co_await batch(request);
    }
    if (path == "/healthz" || path == "/readyz") {
        if (!reads) co_return wrong_method("GET, HEAD");
        if (path == "/readyz") co_return co_await ready();
        co_return Reply{.body = R"({"status":"ok"})"};
    }
    co_return not_found();
}

Task<Outcome> Service::ask(Request request) {
    locks_.validate(request);
    std::vector<Request> one;
    one.push_back(std::move(request));
    std::vector<Outcome> outcomes = co_await ask_all(locks_, std::move(one));
    co_return std::move(outcomes.front());
}

Task<Reply> Service::ready() {
    Request probe = Holders{{"leasehold", "readyz"}};
    const Outcome outcome = co_await ask(std::move(probe));
    if (const auto* fault = std::get_if<StoreFault>(&outcome)) co_return problem(*fault);
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

Task<Reply> Service::batch(const HttpRequest& request) {
    const json::value body = json_body(request);
    wire::Fields fields{body, "the body"};
    const json::value& list = fields.required("requests");
    fields.refuse_others();
    if (!list.is_array()) throw BadRequest{"the body: \"requests\" must be an array"};
    if (list.get_array().size() > options_.batch_requests) {
        throw BadRequest{"a batch has at most " + std::to_string(options_.batch_requests) +
                         " requests here"};
    }
    std::vector<Request> requests;
    requests.reserve(list.get_array().size());
    for (const json::value& item : list.get_array()) {
        try {
            locks_.validate(requests.emplace_back(wire::request_from(item)));
        } catch (const BadRequest& bad) {
            const std::size_t index = static_cast<std::size_t>(&item - list.get_array().data());
            throw Unanswerable{problem(400, "bad_request",
                                       "requests[" + std::to_string(index) + "]: " + bad.what(),
                                       {{"index", index}})};
        }
    }
    const std::vector<Outcome> outcomes = co_await ask_all(locks_, std::move(requests));
    json::array answers;
    answers.reserve(outcomes.size());
    for (const Outcome& outcome : outcomes) answers.emplace_back(wire::to_json(outcome));
    json::object reply;
    reply["answers"] = std::move(answers);
    co_return json_reply(200, reply);
}

}  // namespace leasehold::server
