#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <leasehold/errors.hpp>
#include <leasehold/store.hpp>

#include "wire/json.hpp"

// Names and readers that requests and answers share.
namespace leasehold::wire {

template <class T, std::size_t N>
using Names = std::array<std::pair<T, std::string_view>, N>;

inline constexpr Names<Mode, 2> modes{{{Mode::exclusive, "exclusive"}, {Mode::shared, "shared"}}};
inline constexpr Names<OwnerScope, 2> scopes{
    {{OwnerScope::exact, "exact"}, {OwnerScope::below, "below"}}};
inline constexpr Names<Gone, 5> endings{{{Gone::unknown, "unknown"},
                                         {Gone::expired, "expired"},
                                         {Gone::released, "released"},
                                         {Gone::taken, "taken"},
                                         {Gone::broken, "broken"}}};
inline constexpr Names<Refusal::Kind, 3> refusals{
    {{Refusal::Kind::held, "held"}, {Refusal::Kind::gone, "gone"}, {Refusal::Kind::busy, "busy"}}};
inline constexpr Names<StoreFault::Effect, 2> effects{
    {{StoreFault::Effect::none, "none"}, {StoreFault::Effect::unknown, "unknown"}}};
inline constexpr Names<StoreFault::Cause, 6> causes{
    {{StoreFault::Cause::unavailable, "unavailable"},
     {StoreFault::Cause::configuration, "configuration"},
     {StoreFault::Cause::not_allowed, "not_allowed"},
     {StoreFault::Cause::clock_leap, "clock_leap"},
     {StoreFault::Cause::internal, "internal"},
     {StoreFault::Cause::lock_id_in_use, "lock_id_in_use"}}};

template <class T, std::size_t N>
std::string_view name_of(T value, const Names<T, N>& names) {
    for (const auto& [known, name] : names) {
        if (known == value) return name;
    }
    return names.front().second;
}

template <class T, std::size_t N>
std::optional<T> optional_name(Fields& fields, std::string_view field, const Names<T, N>& names) {
    const auto text = fields.optional_view(field);
    if (!text) return std::nullopt;
    for (const auto& [value, name] : names) {
        if (*text == name) return value;
    }
    std::string problem{"must be one of "};
    for (const auto& [value, name] : names) {
        if (name != names.front().second) problem.append(", ");
        problem.append("\"").append(name).append("\"");
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
