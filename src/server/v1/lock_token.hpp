#pragma once

#include <leasehold/lock_id.hpp>

#include "server/http/message.hpp"

// The Lock-Token field, by which clients of the native protocol show a lock id.
namespace leasehold::server::v1 {

[[nodiscard]] bool has_lock_token(const HttpRequest& request);
// Throws BadRequest if the field is missing or contains no lock id.
[[nodiscard]] LockId lock_id_in(const HttpRequest& request);
// Throws BadRequest if the request has the field.
void refuse_lock_token(const HttpRequest& request);

}  // namespace leasehold::server::v1
