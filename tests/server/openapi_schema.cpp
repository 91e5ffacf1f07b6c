#include "server/openapi_schema.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <regex>
#include <set>
#include <stdexcept>
#include <unordered_set>
#include <vector>

#include "core/text.hpp"
#include "server/v1/description.hpp"

namespace leasehold::testing {
namespace {

namespace json = boost::json;

bool is_known(std::string_view word) {
    static const std::set<std::string_view> words{
        "$ref",      "description", "type",       "properties",    "required",
        "items",     "enum",        "const",      "oneOf",         "anyOf",
        "minLength", "maxLength",   "pattern",    "format",        "additionalProperties",
        "minimum",   "maximum",     "default",    "discriminator", "dependentRequired",
        "minItems",  "maxItems",    "uniqueItems"};
    return words.contains(word) || word.starts_with("x-");
}

bool is_integer(const json::value& value) {
    if (const double* number = value.if_double()) return std::trunc(*number) == *number;
    return value.is_number();
}

bool has_type(const json::value& value, std::string_view type) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "integer") return is_integer(value);
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

// The keyword, unless a setting of the server decides its value: the validator does not know it.
const json::value* keyword(const json::object& schema, std::string_view name) {
    const json::value* settings = schema.if_contains("x-settings");
    if (settings != nullptr && settings->as_object().contains(name)) return nullptr;
    return schema.if_contains(name);
}

// The characters of valid UTF-8.
std::wstring characters(std::string_view text) {
    std::wstring result;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x80) {
            result.push_back(byte);
        } else if (byte >= 0xC0) {
            result.push_back(byte & (byte >= 0xF0 ? 0x07 : byte >= 0xE0 ? 0x0F : 0x1F));
        } else {
            result.back() = result.back() << 6 | (byte & 0x3F);
        }
    }
    return result;
}

// Remembers texts that matched: regular expressions are slow, and tests repeat long texts often.
bool matches(const json::string& text, const json::string& pattern) {
    struct Pattern {
        std::wregex regex;
        std::unordered_set<std::string> matched{};
    };
    constexpr std::size_t most_remembered = 10'000;
    thread_local std::map<std::string, Pattern, std::less<>> patterns;
    const std::string_view key = pattern;
    auto known = patterns.find(key);
    if (known == patterns.end()) {
        known = patterns.emplace(key, Pattern{std::wregex{characters(key)}}).first;
    }
    auto& [regex, matched] = known->second;
    std::string wanted{std::string_view{text}};
    if (matched.contains(wanted)) return true;
    if (!std::regex_search(characters(wanted), regex)) return false;
    if (matched.size() == most_remembered) matched.clear();
    matched.insert(std::move(wanted));
    return true;
}

std::size_t count_characters(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count_if(
        text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string problem_with_text(const json::object& schema, const json::string& text) {
    const std::size_t letters = count_characters(text);
    const auto number = [](const json::value* value) { return value->to_number<std::size_t>(); };
    if (const auto* least = keyword(schema, "minLength"); least && letters < number(least)) {
        return "is too short";
    }
    if (const auto* most = keyword(schema, "maxLength"); most && letters > number(most)) {
        return "has too many characters";
    }
    if (const auto* most = keyword(schema, "x-max-bytes"); most && text.size() > number(most)) {
        return "has too many bytes";
    }
    if (const auto* pattern = keyword(schema, "pattern");
        pattern && !matches(text, pattern->as_string())) {
        return "does not match " + json::serialize(*pattern);
    }
    static const std::regex date_time{
        R"(\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d))"};
    if (const auto* format = keyword(schema, "format");
        format && *format == "date-time" && !std::regex_match(text.c_str(), date_time)) {
        return "is not a date-time";
    }
    return {};
}

std::string problem_with_number(const json::object& schema, const json::value& value) {
    const auto number = value.to_number<double>();
    if (const auto* least = keyword(schema, "minimum");
        least && number < least->to_number<double>()) {
        return "is too small";
    }
    if (const auto* most = keyword(schema, "maximum"); most && number > most->to_number<double>()) {
        return "is too large";
    }
    const auto* format = keyword(schema, "format");
    if (format && *format == "int64" && value.is_uint64()) return "does not fit into 64 bits";
    return {};
}

std::vector<std::string_view> parts_of(std::string_view path) {
    std::vector<std::string_view> parts;
    while (!path.empty()) {
        const std::size_t end = std::min(path.find('/', 1), path.size());
        parts.push_back(path.substr(1, end - 1));
        path.remove_prefix(end);
    }
    return parts;
}

// Without the query, and without the scheme and the host of an absolute-form target.
std::string path_in(std::string_view target) {
    target = target.substr(0, target.find('?'));
    if (const std::size_t host = target.find("://"); host != target.npos) {
        target.remove_prefix(std::min(target.find('/', host + 3), target.size()));
    }
    return target.empty() ? "/" : std::string{target};
}

bool is_parameter(std::string_view part) {
    return part.starts_with('{');
}

}  // namespace

const OpenApi& OpenApi::of_this_build() {
    static const OpenApi document{json::parse(server::description)};
    return document;
}

const json::value& OpenApi::target_of(const json::value& reference) const {
    const std::string pointer{std::string_view{reference.as_string()}.substr(1)};
    return document_.at_pointer(pointer);
}

json::value OpenApi::resolved(const json::value& schema) const {
    const json::value* reference = schema.as_object().if_contains("$ref");
    if (reference == nullptr) return schema;
    json::value merged = resolved(target_of(*reference));
    for (const auto& word : schema.get_object()) {
        if (word.key() != "$ref") merged.get_object()[word.key()] = word.value();
    }
    return merged;
}

std::optional<std::string> OpenApi::path_of(std::string_view target) const {
    const std::string text = path_in(target);
    const auto parts = parts_of(text);
    for (const auto& path : document_.at("paths").as_object()) {
        auto wanted = parts_of(path.key());
        // The last parameter, {file...}, may have slashes in it, or be missing.
        if (path.key().ends_with("...}") && parts.size() + 1 >= wanted.size()) {
            const std::string_view last = wanted.back();
            wanted.resize(parts.size(), last);
        }
        const bool fits =
            std::ranges::equal(wanted, parts, [](std::string_view one, std::string_view other) {
                return one == other || is_parameter(one);
            });
        if (fits) return std::string{path.key()};
    }
    return std::nullopt;
}

const json::value* OpenApi::operation(const DescribedRequest& request) const {
    const auto path = request.method.empty() ? std::nullopt : path_of(request.target);
    if (!path) return nullptr;
    const std::string method = request.method == "HEAD" ? "get" : lower(request.method);
    return document_.at("paths").at(*path).as_object().if_contains(method);
}

std::string OpenApi::problem_with(const DescribedRequest& request,
                                  const DescribedAnswer& answer) const {
    // Part of CORS, not of this interface.
    if (request.method == "OPTIONS" && answer.status == 204) return {};
    const json::value* described = operation(request);
    if (described == nullptr) {
        if (answer.status < 400) return "the request is not described, but was not refused";
        const auto* name = answer.status == 503 ? "Unavailable" : "Error";
        return problem_with_content(document_.at("components").at("responses").at(name), answer);
    }
    const auto& responses = described->at("responses").as_object();
    const json::value* response = responses.if_contains(std::to_string(answer.status));
    if (response == nullptr && answer.status < 400) return "the status is not described";
    if (response == nullptr) response = &responses.at("default");
    std::string problem = problem_with_content(*response, answer);
    const bool was_read = answer.status < 300 || answer.status == 409 || answer.status == 410;
    if (!problem.empty() || !was_read || request.body.empty()) return problem;
    return problem_with_body(*path_of(request.target), lower(request.method),
                             json::parse(request.body));
}

std::string OpenApi::problem_with_content(const json::value& response_or_reference,
                                          const DescribedAnswer& answer) const {
    const json::value response = resolved(response_or_reference);
    const json::value* content = response.as_object().if_contains("content");
    if (content == nullptr) {
        return answer.body.value_or("").empty() ? "" : "no body is described for this status";
    }
    const json::value* media = content->as_object().if_contains(answer.content_type);
    if (media == nullptr) {
        return "the content type is not described: " + std::string{answer.content_type};
    }
    if (!answer.body || answer.content_type == "text/event-stream") return {};
    const bool is_json = answer.content_type.contains("json");
    const json::value body = is_json ? json::parse(*answer.body) : json::value(*answer.body);
    return check(media->at("schema"), body, "the answer");
}

std::string OpenApi::problem_with_body(std::string_view path, std::string_view method,
                                       const json::value& body) const {
    const auto& operation = document_.at("paths").at(path).at(method).as_object();
    const json::value* described = operation.if_contains("requestBody");
    if (described == nullptr) return "no body is described";
    return check(described->at("content").at("application/json").at("schema"), body, "the body");
}

std::string OpenApi::problem_with_value(std::string_view schema, const json::value& value) const {
    return check(document_.at("components").at("schemas").at(schema), value, std::string{schema});
}

std::string OpenApi::check(const json::value& described, const json::value& value,
                           const std::string& where) const {
    const json::object& schema = described.as_object();
    for (const auto& word : schema) {
        if (!is_known(word.key())) {
            throw std::logic_error{"the validator does not know " + std::string{word.key()}};
        }
    }
    std::string problem;
    if (const auto* reference = keyword(schema, "$ref")) {
        problem = check(target_of(*reference), value, where);
        if (!problem.empty()) return problem;
    }
    if (const auto* type = keyword(schema, "type"); type && !has_one_of_types(value, *type)) {
        return where + " has the wrong type: " + json::serialize(value);
    }
    if (const auto* only = keyword(schema, "const"); only && *only != value) {
        return where + " must be " + json::serialize(*only);
    }
    if (const auto* words = keyword(schema, "enum")) {
        if (std::ranges::find(words->as_array(), value) == words->as_array().end()) {
            return where + " is not one of " + json::serialize(*words) + ": " +
                   json::serialize(value);
        }
    }
    if (value.is_string()) problem = problem_with_text(schema, value.get_string());
    if (value.is_number()) problem = problem_with_number(schema, value);
    if (!problem.empty()) return where + " " + problem + ": " + json::serialize(value);
    if (value.is_object()) problem = check_object(schema, value.get_object(), where);
    if (value.is_array()) problem = check_list(schema, value.get_array(), where);
    for (const auto& [word, exactly_one] : {std::pair{"oneOf", true}, std::pair{"anyOf", false}}) {
        const auto* choices = keyword(schema, word);
        if (choices != nullptr && problem.empty()) {
            problem = check_choice(choices->as_array(), exactly_one, value, where);
        }
    }
    return problem;
}

std::string OpenApi::check_list(const json::object& schema, const json::array& value,
                                const std::string& where) const {
    const auto number = [](const json::value* limit) { return limit->to_number<std::size_t>(); };
    if (const auto* least = keyword(schema, "minItems"); least && value.size() < number(least)) {
        return where + " has too few items";
    }
    if (const auto* most = keyword(schema, "maxItems"); most && value.size() > number(most)) {
        return where + " has too many items";
    }
    if (const auto* unique = keyword(schema, "uniqueItems"); unique && unique->as_bool()) {
        for (auto one = value.begin(); one != value.end(); ++one) {
            if (std::find(value.begin(), one, *one) != one) return where + " has an item twice";
        }
    }
    const auto* items = keyword(schema, "items");
    if (items == nullptr) return {};
    for (const json::value& item : value) {
        std::string problem = check(*items, item, where + "[]");
        if (!problem.empty()) return problem;
    }
    return {};
}

std::string OpenApi::check_object(const json::object& schema, const json::object& value,
                                  const std::string& where) const {
    const auto lacks = [&](const json::value& names) -> std::string {
        for (const json::value& name : names.as_array()) {
            if (!value.contains(name.as_string())) return where + " lacks " + json::serialize(name);
        }
        return {};
    };
    if (const auto* required = keyword(schema, "required")) {
        if (std::string problem = lacks(*required); !problem.empty()) return problem;
    }
    if (const auto* dependent = keyword(schema, "dependentRequired")) {
        for (const auto& [name, others] : dependent->as_object()) {
            if (!value.contains(name)) continue;
            if (std::string problem = lacks(others); !problem.empty()) return problem;
        }
    }
    const auto* properties = keyword(schema, "properties");
    if (properties == nullptr) return {};
    for (const auto& field : value) {
        const auto* described = properties->as_object().if_contains(field.key());
        if (described == nullptr) {
            return where + " has a field that is not described: " + std::string{field.key()};
        }
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
