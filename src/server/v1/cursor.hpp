#pragma once

#include <string>
#include <string_view>

#include <leasehold/lease.hpp>

namespace leasehold::server::v1 {

// A place in the list of locks, as text that a client sends back unchanged.
[[nodiscard]] std::string cursor_of(const Holder& last);
[[nodiscard]] Holder holder_at(std::string_view cursor);  // throws BadRequest

}  // namespace leasehold::server::v1
