#pragma once

#include <chrono>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "server/access/tokens.hpp"

// The file of the tokens that a server accepts.
namespace leasehold::cli {

// Throws BadRequest, with file and line, for a file with a mistake.
[[nodiscard]] std::vector<server::Token> read_token_file(const std::string& path);
// The same with the file's content.
[[nodiscard]] std::vector<server::Token> tokens_in(const std::string& path, std::string_view text);

// The token's entry in the file.
[[nodiscard]] std::string token_entry(const server::Token& token);

// Check one field of an entry; the error says what would be right.
[[nodiscard]] std::expected<server::Roles, std::string> roles_from(
    const std::vector<std::string>& names);
[[nodiscard]] std::expected<void, std::string> check_token_name(std::string_view name);
[[nodiscard]] std::expected<void, std::string> check_token_id(std::string_view id);
[[nodiscard]] std::expected<void, std::string> check_token_owner(std::string_view owner);
// The error of a token that may take leases and does not say in whose name. `one` and `any` are
// examples of what to write.
[[nodiscard]] std::string owner_is_missing(const std::string& name, const std::string& one,
                                           const std::string& any);

[[nodiscard]] std::expected<void, std::string> check_certificate_name(std::string_view name);
// "2027-03-31", "2027-03-31T18:00:00Z"
[[nodiscard]] std::expected<std::chrono::sys_seconds, std::string> moment_from(
    std::string_view text);
// "2027-03-31T18:00:00Z"
[[nodiscard]] std::string date_time(std::chrono::sys_seconds moment);

[[nodiscard]] std::expected<server::Rate, std::string> rate_from(std::int64_t per_second);

inline constexpr std::int64_t highest_rate = 1'000'000;
inline constexpr std::int64_t highest_quota = 1'000'000'000'000'000;

}  // namespace leasehold::cli
