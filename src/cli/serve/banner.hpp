#pragma once

#include <string>

namespace leasehold::cli {

// A greeting: where the server listens, what to try, how to stop it. Every line of it that begins
// with two spaces and a dollar can be copied into a shell as it is.
[[nodiscard]] std::string banner(const std::string& url, const std::string& store);

}  // namespace leasehold::cli
