#pragma once

#include <string>
#include <string_view>

#include <boost/json/fwd.hpp>

#include <leasehold/protection.hpp>

// How protected tables are shown.
namespace leasehold::cli {

// "writable" or "refused".
[[nodiscard]] std::string_view name_of(ProtectedTable::Unleased unleased);

// "a write to a row needs the lease of Order/{id}, if somebody has leased it".
[[nodiscard]] std::string rule_of(const ProtectedTable& table);

[[nodiscard]] boost::json::object as_json(const ProtectedTable& table);

}  // namespace leasehold::cli
