#include "stores/http/answers.hpp"

#include <boost/json/object.hpp>

#include "wire/json.hpp"
#include "wire/url.hpp"

namespace leasehold::http {
namespace {

namespace json = boost::json;

json::value parsed(const std::string& server, const std::string& body, StoreFault::Effect effect) {
    try {
        return wire::parse(body);
    } catch (const BadRequest& bad) {
        throw not_understood(server, effect, bad.what());
    }
}

}  // namespace

std::string path_of(const LockKey& key) {
    std::string path = "/v1/locks/";
    wire::append_encoded(path, key.type());
    path += '/';
    wire::append_encoded(path, key.id());
    return path;
}

std::string field_of(const json::value& problem, std::string_view field) {
    const json::value* value =
        problem.is_object() ? problem.get_object().if_contains(field) : nullptr;
    return value != nullptr && value->is_string() ? std::string{value->get_string()}
                                                  : std::string{};
}

json::value understood(const std::string& server, const Response& response,
                       StoreFault::Effect effect) {
    json::value body = parsed(server, response.body, effect);
    if (response.status >= 200 && response.status < 300) return body;
    const std::string said = "the Leasehold server at " + server + " says " +
                             std::to_string(response.status) + ": " + field_of(body, "detail");
    // A request that was refused was not begun. Of those that were, the server says it.
    if (response.status == 401 || response.status == 403) {
        throw StoreFault{StoreFault::Effect::none, StoreFault::Cause::not_allowed, said};
    }
    if (response.status == 404) {
        throw StoreFault{StoreFault::Effect::none, StoreFault::Cause::configuration, said};
    }
    if (response.status < 500) {
        throw StoreFault{
            StoreFault::Effect::none,
            response.status == 429 ? StoreFault::Cause::unavailable : StoreFault::Cause::internal,
            said};
    }
    const bool untouched =
        field_of(body, "effect") == "none" || field_of(body, "code") == "overloaded";
    throw StoreFault{untouched ? StoreFault::Effect::none : effect, StoreFault::Cause::unavailable,
                     said};
}

StoreFault not_understood(const std::string& server, StoreFault::Effect effect,
                          const std::string& problem) {
    return {effect, StoreFault::Cause::internal,
            "the Leasehold server at " + server +
                " answered something that was not understood: " + problem};
}

}  // namespace leasehold::http
