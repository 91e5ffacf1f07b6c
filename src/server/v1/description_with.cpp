#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include <chrono>
#include <map>

#include "server/options.hpp"
#include "server/v1/description.hpp"
#include "wire/json.hpp"

namespace leasehold::server {
namespace {

namespace json = boost::json;

using Settings = std::map<std::string_view, json::value>;

void fill_in(json::value& value, const Settings& settings) {
    if (json::array* list = value.if_array()) {
        for (json::value& item : *list) fill_in(item, settings);
    }
    json::object* object = value.if_object();
    if (object == nullptr) return;
    if (json::value* named = object->if_contains("x-settings")) {
        // A copy, because the object changes.
        const json::object keywords = named->as_object();
        for (const auto& keyword : keywords) {
            (*object)[keyword.key()] = settings.at(std::string_view{keyword.value().as_string()});
        }
        return;
    }
    for (auto& field : *object) fill_in(field.value(), settings);
}

}  // namespace

std::string description_with(const Limits& limits, const ServerOptions& options) {
    const Settings settings{
        {"min_ttl", wire::to_json(limits.min_ttl)},
        {"max_ttl", wire::to_json(limits.max_ttl)},
        {"default_ttl", wire::to_json(limits.default_ttl)},
        {"keys_at_once", limits.keys_at_once},
        {"page_rows", limits.page_rows},
        {"batch_requests", options.batch_requests},
        {"longest_wait", options.longest_wait.count()},
        {"longest_delay", options.longest_delay.count()},
    };
    json::value document = json::parse(description);
    fill_in(document, settings);
    return wire::print(document);
}

}  // namespace leasehold::server
