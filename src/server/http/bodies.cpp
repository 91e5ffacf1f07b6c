#include "server/http/bodies.hpp"

#include <algorithm>
#include <utility>

#include <leasehold/errors.hpp>

#include "core/text.hpp"
#include "wire/json.hpp"

namespace leasehold::server {

namespace json = boost::json;

std::string media_type(std::string_view field) {
    const std::string_view type = field.substr(0, field.find(';'));
    const std::size_t begin = std::min(type.find_first_not_of(" \t"), type.size());
    return lower(type.substr(begin, type.find_last_not_of(" \t") + 1 - begin));
}

json::value json_body(HttpRequest& request, json::storage_ptr storage) {
    json::value body = wire::parse(request.body, std::move(storage));
    request.drop_body();
    return body;
}

json::object optional_fields(HttpRequest& request, json::storage_ptr storage) {
    if (request.body.empty()) return json::object{std::move(storage)};
    json::value body = json_body(request, std::move(storage));
    if (!body.is_object()) throw BadRequest{"the body must be a JSON object"};
    return std::move(body.get_object());
}

}  // namespace leasehold::server
