#pragma once

#include <cstdint>
#include <string>

namespace leasehold::cli {

enum class Admission : std::uint8_t { everybody, with_token };

// A greeting: where the server listens, where its console is, what to try, how to stop it. Every
// line that begins with two spaces and a dollar sign can be copied into a shell. If the server has
// tokens, LEASEHOLD_TOKEN_FILE must name a file with one.
[[nodiscard]] std::string banner(const std::string& url, const std::string& store,
                                 Admission admission);

}  // namespace leasehold::cli
