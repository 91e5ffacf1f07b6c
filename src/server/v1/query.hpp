#pragma once

#include <cstddef>
#include <optional>

#include <leasehold/store.hpp>

#include "server/http/target.hpp"

// The query parameters that several routes of the native protocol take. Every function throws
// BadRequest for a value that it does not accept.
namespace leasehold::server::v1 {

[[nodiscard]] OwnerScope scope_in(const Query& query);
// The key that "type" and "id" name together. Nothing if both are absent.
[[nodiscard]] std::optional<LockKey> key_in(const Query& query);
// The number of rows of a page.
[[nodiscard]] std::size_t limit_in(const Query& query, std::size_t otherwise);

}  // namespace leasehold::server::v1
