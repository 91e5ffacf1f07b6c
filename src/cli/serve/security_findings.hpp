#pragma once

#include <vector>

#include "cli/serve/config.hpp"
#include "server/access/tokens.hpp"
#include "server/findings.hpp"

namespace leasehold::cli {

// What is open in the configuration of this server: connections without TLS, tokens that may do
// much or never expire, missing limits, files that others can reach. For an administrator.
[[nodiscard]] std::vector<server::Finding> security_findings_of(
    const Config& config, const server::ServerOptions& options);

}  // namespace leasehold::cli
