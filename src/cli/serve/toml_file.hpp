#pragma once

#include <toml++/toml.h>

#include <string>
#include <string_view>

namespace leasehold::cli {

// "leasehold.toml:3"
[[nodiscard]] std::string place(const std::string& path, const toml::source_region& region);

// The content of the file. Throws BadRequest; `what` names the file in the message: "the
// configuration file".
[[nodiscard]] std::string toml_content(const std::string& what, const std::string& path);

// Throws BadRequest, with path and line, for a text that is not TOML.
[[nodiscard]] toml::table parse_toml(const std::string& path, std::string_view text);

// In quotes, as a TOML file has it.
[[nodiscard]] std::string toml_text(std::string_view text);

}  // namespace leasehold::cli
