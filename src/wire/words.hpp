#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <leasehold/errors.hpp>
#include <leasehold/request.hpp>

#include "core/enum_names.hpp"
#include "wire/json.hpp"

// Names and readers that requests and answers share.
namespace leasehold::wire {

template <class Enum>
std::optional<Enum> optional_name(Fields& fields, std::string_view field,
                                  const EnumTable<Enum, EnumName>& names) {
    const auto text = fields.optional_view(field);
    if (!text) return std::nullopt;
    if (const auto value = names.find(*text)) return value;
    std::string problem;
    for (const auto& [value, name] : names) {
        problem.append(problem.empty() ? "must be one of \"" : ", \"").append(name).append("\"");
    }
    constexpr std::size_t longest_repeated = 32;
    if (text->size() <= longest_repeated) problem.append(", not \"").append(*text).append("\"");
    fields.refuse(field, problem);
}

inline LockId lock_id_from(std::string_view text) {
    auto id = LockId::parse(text);
    if (!id) throw BadRequest{id.error()};
    return *id;
}

inline LockKey key_from(Fields& fields) {
    const std::string type = fields.text("type");
    return LockKey{type, fields.text("id")};
}

inline std::optional<LockKey> optional_key(Fields& fields) {
    const auto type = fields.optional_view("type");
    const auto id = fields.optional_view("id");
    if (type.has_value() != id.has_value()) {
        fields.refuse(type ? "id" : "type",
                      "is missing: \"type\" and \"id\" name a key only together");
    }
    if (!type) return std::nullopt;
    return LockKey{*type, *id};
}

inline void put_key(json::object& object, const LockKey& key) {
    object["type"] = key.type();
    object["id"] = key.id();
}

template <class Item, class Read>
std::vector<Item> read_list(const json::value& value, std::string_view what, Read read) {
    if (!value.is_array()) throw BadRequest{std::string{what} + " must be an array"};
    std::vector<Item> items;
    for (const json::value& item : value.get_array()) items.push_back(read(item));
    return items;
}

}  // namespace leasehold::wire
