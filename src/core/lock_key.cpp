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

}  // namespace

LockKey::LockKey(std::string type, std::string id) : type_{std::move(type)}, id_{std::move(id)} {
    if (auto problem = key_problem(type_, id_)) throw BadRequest{*problem};
}

std::expected<LockKey, std::string> LockKey::parse(std::string_view type, std::string_view id) {
    if (auto problem = key_problem(type, id)) return std::unexpected{*std::move(problem)};
    return LockKey{std::string{type}, std::string{id}};
}

}  // namespace leasehold

std::size_t std::hash<leasehold::LockKey>::operator()(const leasehold::LockKey& key) const noexcept {
    const std::size_t type = std::hash<std::string>{}(key.type());
    const std::size_t id = std::hash<std::string>{}(key.id());
    return id ^ (type + 0x9E3779B97F4A7C15ULL + (id << 6) + (id >> 2));
}
