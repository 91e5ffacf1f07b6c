#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "server/access/tokens.hpp"

// The file that says who may ask the server for what.
namespace leasehold::cli {

// Throws BadRequest with file and line where it is not as it should be.
[[nodiscard]] std::vector<server::Token> read_token_file(const std::string& path);

// Whether others than its owner and group can read or change it.
[[nodiscard]] bool is_open_to_others(const std::string& path);

// What stands in the file for this token.
[[nodiscard]] std::string token_entry(const server::Token& token);

// What a part of an entry must be, or what is wrong.
[[nodiscard]] std::expected<server::Roles, std::string> roles_from(
    const std::vector<std::string>& names);
[[nodiscard]] std::expected<void, std::string> check_token_name(std::string_view name);
[[nodiscard]] std::expected<void, std::string> check_token_owner(std::string_view owner);

[[nodiscard]] std::expected<server::Rate, std::string> rate_from(std::int64_t per_second);

inline constexpr std::int64_t highest_rate = 1'000'000;

}  // namespace leasehold::cli
