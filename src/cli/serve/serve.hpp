#pragma once

#include <cstdint>

#include "cli/serve/config.hpp"

namespace leasehold::cli {

enum class Greeting : std::uint8_t { none, banner };

// Serves until a signal stops it; returns the exit code. Throws BadRequest for a bad configuration
// and StoreFault if the store cannot be opened.
int serve(const CommandLine& line, Greeting greeting);

}  // namespace leasehold::cli
