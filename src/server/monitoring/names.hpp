#pragma once

#include <string_view>

#include <leasehold/errors.hpp>

#include "server/monitoring/observer.hpp"

// The names of enumerators in logs and metrics.
namespace leasehold::server {

[[nodiscard]] std::string_view name_of(StoreFault::Cause cause) noexcept;
[[nodiscard]] std::string_view name_of(StoreFault::Effect effect) noexcept;
[[nodiscard]] std::string_view name_of(ConnectionEvent event) noexcept;

}  // namespace leasehold::server
