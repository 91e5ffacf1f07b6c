#pragma once

#include <string_view>

#include <boost/json/fwd.hpp>

#include <leasehold/protection.hpp>

// How protected tables are shown.
namespace leasehold::cli {

// "writable" or "refused".
[[nodiscard]] std::string_view name_of(ProtectedTable::Unleased unleased);

[[nodiscard]] boost::json::object as_json(const ProtectedTable& table);

}  // namespace leasehold::cli
