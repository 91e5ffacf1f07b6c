#include <leasehold/errors.hpp>
#include <leasehold/limits.hpp>
#include <leasehold/lock_key.hpp>

#include <algorithm>
#include <optional>

#include "core/keyed_hash.hpp"
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

std::size_t hash_of(std::string_view type, std::string_view id) {
    KeyedHash hash;
    hash.add(type);
    hash.add(id);
    return static_cast<std::size_t>(hash.finish());
}

std::shared_ptr<const char[]> joined(std::string_view type, std::string_view id) {
    auto text = std::make_shared_for_overwrite<char[]>(type.size() + id.size());
    std::ranges::copy(id, std::ranges::copy(type, text.get()).out);
    return text;
}

}  // namespace

LockKey::LockKey(Valid /*unused*/, std::string_view type, std::string_view id)
    : text_{joined(type, id)},
      type_size_{static_cast<std::uint32_t>(type.size())},
      id_size_{static_cast<std::uint32_t>(id.size())},
      hash_{hash_of(type, id)} {}

LockKey::LockKey(std::string_view type, std::string_view id) : LockKey{Valid{}, type, id} {
    if (auto problem = key_problem(type, id)) throw BadRequest{*problem};
}

std::expected<LockKey, std::string> LockKey::parse(std::string_view type, std::string_view id) {
    if (auto problem = key_problem(type, id)) return std::unexpected{*std::move(problem)};
    return LockKey{Valid{}, type, id};
}

std::string LockKey::to_string() const {
    return std::string{type()}.append("/").append(id());
}

}  // namespace leasehold
