#pragma once

#include <toml++/toml.h>

#include <string>

namespace leasehold::cli {

// "leasehold.toml:3"
[[nodiscard]] std::string place(const std::string& path, const toml::source_region& region);

// Throws BadRequest, which says where, for a file that cannot be read or is no TOML. `what` names
// the file in messages: "the configuration file".
[[nodiscard]] toml::table read_toml(const std::string& what, const std::string& path);

}  // namespace leasehold::cli
