#include "server/body_generator.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

namespace leasehold::testing {
namespace {

namespace json = boost::json;

// Letters of one to four bytes. The tab is for texts of several lines only.
constexpr std::array<std::string_view, 8> letters{"a", "/", " ", "é", "한", "😀", "\"", "\t"};

template <class Number>
Number keyword_or(const json::object& schema, std::string_view name, Number otherwise) {
    const json::value* value = schema.if_contains(name);
    return value != nullptr ? value->to_number<Number>() : otherwise;
}

bool allows_tabs(const json::object& schema) {
    const json::value* pattern = schema.if_contains("pattern");
    return pattern == nullptr || std::string_view{pattern->as_string()}.contains("\\u0008");
}

}  // namespace

std::size_t BodyGenerator::up_to(std::size_t most) {
    return std::uniform_int_distribution<std::size_t>{0, most}(random_);
}

std::string BodyGenerator::digits(std::size_t count, std::string_view from) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) text.push_back(from[up_to(from.size() - 1)]);
    return text;
}

json::value BodyGenerator::draw(const json::value& described) {
    const json::value whole = api_.resolved(described);
    const json::object& schema = whole.as_object();
    if (const auto* choices = schema.if_contains("oneOf")) {
        return draw(choices->as_array().at(up_to(choices->as_array().size() - 1)));
    }
    if (const auto* only = schema.if_contains("const")) return *only;
    if (const auto* words = schema.if_contains("enum")) {
        return words->as_array().at(up_to(words->as_array().size() - 1));
    }
    const json::value& types = schema.at("type");
    const json::value& type =
        types.is_string() ? types : types.as_array().at(up_to(types.as_array().size() - 1));
    if (type == "object") return draw_object(schema);
    if (type == "array") return draw_list(schema);
    if (type == "integer") return draw_integer(schema);
    if (type == "number") return draw_number(schema);
    if (type == "string") return json::value(draw_text(schema));
    return nullptr;
}

json::value BodyGenerator::draw_object(const json::object& schema) {
    const json::array& required = schema.at("required").as_array();
    json::object object;
    for (const auto& field : schema.at("properties").as_object()) {
        const bool needed = std::ranges::find(required, field.key()) != required.end();
        if (needed || one_in(2)) object[field.key()] = draw(field.value());
    }
    const json::value* dependent = schema.if_contains("dependentRequired");
    if (dependent == nullptr) return object;
    for (const auto& [name, others] : dependent->as_object()) {
        if (!object.contains(name)) continue;
        for (const json::value& other : others.as_array()) {
            const json::string& missing = other.as_string();
            if (!object.contains(missing)) {
                object[missing] = draw(schema.at("properties").at(missing));
            }
        }
    }
    return object;
}

json::value BodyGenerator::draw_list(const json::object& schema) {
    constexpr std::size_t enough = 6;
    const auto least = keyword_or<std::size_t>(schema, "minItems", 0);
    const auto most = std::min(enough, keyword_or<std::size_t>(schema, "maxItems", enough));
    json::array list;
    for (std::size_t i = least + up_to(most - least); i > 0; --i) {
        json::value item = draw(schema.at("items"));
        const bool unique = schema.contains("uniqueItems");
        if (!unique || std::ranges::find(list, item) == list.end()) list.push_back(std::move(item));
    }
    return list;
}

json::value BodyGenerator::draw_integer(const json::object& schema) {
    using Bounds = std::numeric_limits<std::int64_t>;
    const auto least = keyword_or<std::int64_t>(schema, "minimum", Bounds::min());
    const auto most = keyword_or<std::int64_t>(schema, "maximum", Bounds::max());
    switch (up_to(3)) {
        case 0: return least;
        case 1: return most;
        case 2: return static_cast<double>(std::clamp<std::int64_t>(7, least, most));
        default: return std::uniform_int_distribution<std::int64_t>{least, most}(random_);
    }
}

json::value BodyGenerator::draw_number(const json::object& schema) {
    const json::value& least = schema.at("minimum");
    const json::value& most = schema.at("maximum");
    switch (up_to(3)) {
        case 0: return least;
        case 1: return most;
        default:
            return std::uniform_real_distribution<double>{least.to_number<double>(),
                                                          most.to_number<double>()}(random_);
    }
}

std::string BodyGenerator::draw_text(const json::object& schema) {
    if (const auto* format = schema.if_contains("format")) {
        if (*format == "uuid") return draw_uuid();
        if (*format == "date-time") return draw_time();
    }
    const auto least = keyword_or<std::size_t>(schema, "minLength", 0);
    const auto most = keyword_or<std::size_t>(schema, "x-max-bytes", 1000);
    const std::size_t kinds = letters.size() - (allows_tabs(schema) ? 1 : 2);
    const std::size_t same = up_to(kinds);
    const bool mixed = one_in(2);
    const std::size_t wanted = one_in(3) ? most : least + up_to(20);
    std::string text;
    for (;;) {
        const std::string_view letter = letters.at(mixed ? up_to(kinds) : same);
        if (text.size() + letter.size() > std::min(wanted, most) && text.size() >= least) break;
        text.append(letter);
    }
    return text;
}

std::string BodyGenerator::draw_uuid() {
    const std::string_view hex = one_in(2) ? "0123456789abcdef" : "0123456789ABCDEF";
    return digits(8, hex) + '-' + digits(4, hex) + '-' + digits(4, hex) + '-' + digits(4, hex) +
           "-1" + digits(11, hex);
}

std::string BodyGenerator::draw_time() {
    constexpr std::array<std::string_view, 5> zones{"Z", "z", "+00:00", "-03:30", "+23:59"};
    std::string time = digits(4) + "-0" + digits(1, "123456789") + "-1" + digits(1) + "T0" +
                       digits(1) + ":" + digits(1, "012345") + digits(1) + ":" +
                       digits(1, "012345") + digits(1);
    if (const std::size_t fraction = up_to(6); fraction > 0) time += "." + digits(fraction);
    if (time.contains('.') && one_in(3)) time += "000";
    return time.append(zones.at(up_to(zones.size() - 1)));
}

}  // namespace leasehold::testing
