#include "server/openapi_schema.hpp"

#include <boost/json/serialize.hpp>

#include <algorithm>
#include <array>
#include <regex>
#include <stdexcept>

namespace leasehold::testing {
namespace {

namespace json = boost::json;

constexpr std::array known_words{
    "$ref",      "description", "type",   "properties", "required", "additionalProperties",
    "items",     "enum",        "const",  "oneOf",      "anyOf",    "minLength",
    "maxLength", "pattern",     "format", "minimum",    "maximum",  "default"};

bool has_type(const json::value& value, std::string_view type) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "integer") return value.is_int64() || value.is_uint64();
    if (type == "number") return value.is_number();
    if (type == "boolean") return value.is_bool();
    if (type == "null") return value.is_null();
    throw std::logic_error{"the validator does not know the type " + std::string{type}};
}

bool has_one_of_types(const json::value& value, const json::value& types) {
    if (types.is_string()) return has_type(value, types.get_string());
    return std::ranges::any_of(types.as_array(), [&](const json::value& type) {
        return has_type(value, type.as_string());
    });
}

std::string text_problem(const json::object& schema, const json::string& text) {
    if (const auto* least = schema.if_contains("minLength");
        least != nullptr && text.size() < least->to_number<std::size_t>()) {
        return "is too short";
    }
    if (const auto* most = schema.if_contains("maxLength");
        most != nullptr && text.size() > most->to_number<std::size_t>()) {
        return "is too long";
    }
    if (const auto* pattern = schema.if_contains("pattern");
        pattern != nullptr &&
        !std::regex_search(text.c_str(), std::regex{pattern->as_string().c_str()})) {
        return "does not look right";
    }
    static const std::regex moment{R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z)"};
    if (const auto* format = schema.if_contains("format");
        format != nullptr && *format == "date-time" && !std::regex_match(text.c_str(), moment)) {
        return "is no date-time";
    }
    return {};
}

std::string number_problem(const json::object& schema, double number) {
    if (const auto* least = schema.if_contains("minimum");
        least != nullptr && number < least->to_number<double>()) {
        return "is too small";
    }
    if (const auto* most = schema.if_contains("maximum");
        most != nullptr && number > most->to_number<double>()) {
        return "is too large";
    }
    return {};
}

}  // namespace

const json::value& OpenApi::resolve(const json::value& value) const {
    if (!value.is_object()) return value;
    const json::value* reference = value.get_object().if_contains("$ref");
    if (reference == nullptr) return value;
    const std::string pointer{std::string_view{reference->as_string()}.substr(1)};
    return resolve(document_.at_pointer(pointer));
}

std::string OpenApi::problem_with_body(std::string_view path, std::string_view method,
                                       const json::value& body) const {
    const auto& operation = document_.at("paths").at(path).at(method).as_object();
    const json::value* described = operation.if_contains("requestBody");
    if (described == nullptr) return "no body is described";
    return check(described->at("content").at("application/json").at("schema"), body, "the body");
}

std::string OpenApi::problem_with_answer(std::string_view path, std::string_view method,
                                         unsigned status, std::string_view content_type,
                                         const json::value& body) const {
    const auto& responses = document_.at("paths").at(path).at(method).at("responses").as_object();
    const json::value* described = responses.if_contains(std::to_string(status));
    if (described == nullptr && status < 400) return "the status is not described";
    if (described == nullptr) described = &responses.at("default");
    const auto& content = resolve(*described).at("content").as_object();
    const json::value* media = content.if_contains(content_type);
    if (media == nullptr) return "the content type is not described";
    return check(media->at("schema"), body, "the answer");
}

std::string OpenApi::check(const json::value& schema_or_ref, const json::value& value,
                           const std::string& where) const {
    const json::object& schema = resolve(schema_or_ref).as_object();
    for (const auto& word : schema) {
        if (std::ranges::find(known_words, std::string_view{word.key()}) == known_words.end()) {
            throw std::logic_error{"the validator does not know " + std::string{word.key()}};
        }
    }
    if (const auto* type = schema.if_contains("type"); type && !has_one_of_types(value, *type)) {
        return where + " has the wrong type: " + json::serialize(value);
    }
    if (const auto* only = schema.if_contains("const"); only && *only != value) {
        return where + " must be " + json::serialize(*only);
    }
    if (const auto* words = schema.if_contains("enum")) {
        if (std::ranges::find(words->as_array(), value) == words->as_array().end()) {
            return where + " is none of " + json::serialize(*words);
        }
    }
    std::string problem;
    if (value.is_string()) problem = text_problem(schema, value.get_string());
    if (value.is_number()) problem = number_problem(schema, value.to_number<double>());
    if (!problem.empty()) return where + " " + problem + ": " + json::serialize(value);
    if (value.is_object()) problem = check_object(schema, value.get_object(), where);
    if (const auto* items = schema.if_contains("items"); items && value.is_array()) {
        for (const json::value& item : value.get_array()) {
            if (problem.empty()) problem = check(*items, item, where + "[]");
        }
    }
    for (const auto& [word, exactly_one] : {std::pair{"oneOf", true}, std::pair{"anyOf", false}}) {
        const auto* choices = schema.if_contains(word);
        if (choices != nullptr && problem.empty()) {
            problem = check_choice(choices->as_array(), exactly_one, value, where);
        }
    }
    return problem;
}

std::string OpenApi::check_object(const json::object& schema, const json::object& value,
                                  const std::string& where) const {
    if (const auto* required = schema.if_contains("required")) {
        for (const json::value& name : required->as_array()) {
            if (!value.contains(name.as_string())) {
                return where + " lacks " + json::serialize(name);
            }
        }
    }
    const auto* properties = schema.if_contains("properties");
    if (properties == nullptr) return {};
    for (const auto& field : value) {
        const auto* described = properties->as_object().if_contains(field.key());
        if (described == nullptr) return where + " has an unknown " + std::string{field.key()};
        std::string problem =
            check(*described, field.value(), where + "." + std::string{field.key()});
        if (!problem.empty()) return problem;
    }
    return {};
}

std::string OpenApi::check_choice(const json::array& choices, bool exactly_one,
                                  const json::value& value, const std::string& where) const {
    int fitting = 0;
    std::string problems;
    for (const json::value& choice : choices) {
        const std::string problem = check(choice, value, where);
        if (problem.empty()) ++fitting;
        problems += problem + "; ";
    }
    if (fitting == 1 || (fitting > 1 && !exactly_one)) return {};
    return where + " fits " + std::to_string(fitting) + " choices: " + problems;
}

}  // namespace leasehold::testing
