#pragma once

#include <string>
#include <string_view>

#include <leasehold/limits.hpp>

namespace leasehold::server {

struct ServerOptions;

// The text of openapi.json, with the default limits.
extern const std::string_view description;

// The same with the limits of one server: every keyword that "x-settings" names gets the value of
// that setting.
[[nodiscard]] std::string description_with(const Limits& limits, const ServerOptions& options);

}  // namespace leasehold::server
