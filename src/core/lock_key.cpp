#include <leasehold/errors.hpp>
#include <leasehold/limits.hpp>
#include <leasehold/lock_key.hpp>

#include <optional>

#include "core/text.hpp"

namespace leasehold {
namespace {

std::optional<std::string> part_problem(std::string_view what, std::string_view part,
                                        std::size_t max_bytes) {
    if (part.empty()) return std::string{what} + " is empty";
    return text_problem(what, part, max_bytes, Lines::one);
}

std::optional<std::string> key_problem(std::string_view type, std::string_view id) {
    if (auto problem = part_problem("the key's type", type, Limits::type_bytes)) return problem;
    return part_problem("the key's id", id, Limits::id_bytes);
}

std::size_t hash_of(const std::string& type, const std::string& id) {
    const std::size_t seed = std::hash<std::string>{}(type);
    const std::size_t hash = std::hash<std::string>{}(id);
    return hash ^ (seed + 0x9E3779B97F4A7C15ULL + (hash << 6) + (hash >> 2));
}

}  // namespace

LockKey::LockKey(std::string type, std::string id)
    : type_{std::move(type)}, id_{std::move(id)}, hash_{hash_of(type_, id_)} {
    if (auto problem = key_problem(type_, id_)) throw BadRequest{*problem};
}

std::expected<LockKey, std::string> LockKey::parse(std::string_view type, std::string_view id) {
    if (auto problem = key_problem(type, id)) return std::unexpected{*std::move(problem)};
    return LockKey{std::string{type}, std::string{id}};
}

}  // namespace leasehold
