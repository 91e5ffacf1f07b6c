#pragma once

#include <toml++/toml.h>

#include <string>

namespace leasehold::cli {

// "leasehold.toml:3"
[[nodiscard]] std::string place(const std::string& path, const toml::source_region& region);

// Throws BadRequest, with file and line, for a file that cannot be read or is not TOML. `what`
// names the file in messages: "the configuration file".
[[nodiscard]] toml::table read_toml(const std::string& what, const std::string& path);

}  // namespace leasehold::cli
