#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>

#include <leasehold/limits.hpp>
#include <leasehold/store.hpp>

#include "server/http/target.hpp"

// The query parameters that several routes of the native protocol take. Every function throws
// BadRequest for a value that it does not accept.
namespace leasehold::server::v1 {

// The room that an answer with this many rows needs, if their texts are of usual length.
[[nodiscard]] constexpr std::size_t room_for(std::size_t rows) noexcept {
    constexpr std::size_t usual_row = 512;
    return std::min(rows * usual_row, Limits::page_bytes);
}

[[nodiscard]] OwnerScope scope_in(const Query& query);
// The key that "type" and "id" name together. Nothing if both are absent.
[[nodiscard]] std::optional<LockKey> key_in(const Query& query);
// The number of rows of a page.
[[nodiscard]] std::size_t limit_in(const Query& query, std::size_t otherwise);

}  // namespace leasehold::server::v1
