#pragma once

#include <cstdint>

#include "cli/serve/config.hpp"

namespace leasehold::cli {

enum class Greeting : std::uint8_t { none, banner };

// Serves until it is told to stop; returns the exit code. Throws BadRequest for a bad
// configuration, StoreFault where the store cannot be opened.
int serve(const CommandLine& line, Greeting greeting);

}  // namespace leasehold::cli
