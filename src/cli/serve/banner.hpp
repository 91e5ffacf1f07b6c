#pragma once

#include <cstdint>
#include <string>

namespace leasehold::cli {

enum class Admission : std::uint8_t { everybody, with_token };

// A greeting: where the server listens, where its console is, what to try, how to stop it. Every
// line of it that begins with two spaces and a dollar can be copied into a shell as it is, where
// LEASEHOLD_TOKEN_FILE names a token if one is needed.
[[nodiscard]] std::string banner(const std::string& url, const std::string& store,
                                 Admission admission);

}  // namespace leasehold::cli
