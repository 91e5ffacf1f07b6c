#pragma once

#include <string>
#include <vector>

#include "cli/serve/config.hpp"

// How the server's process is kept from giving its secrets away.
namespace leasehold::cli {

// Makes the process not dumpable, unless the setting `dumpable` says otherwise: neither a core dump
// nor a debugger of the same user shows the tokens and lock ids in its memory.
void protect_memory(const Config& config);

// What is open that an administrator may not intend, a sentence each: tokens that travel without
// TLS, a process that runs as root.
[[nodiscard]] std::vector<std::string> risks_of(const Config& config);

}  // namespace leasehold::cli
