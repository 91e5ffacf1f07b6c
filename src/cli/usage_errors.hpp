#pragma once

#include <string>
#include <vector>

#include "cli/subcommand.hpp"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

// What is wrong with a command line, and what would be right.
namespace leasehold::cli {

// "there is no command 'relase'; did you mean 'release'?"
[[nodiscard]] std::string unknown_command(const CLI::App& app, const std::string& name);

// For a command line that the option parser refused. Names the first option that does not exist, or
// the first argument that has no place; otherwise says what the parser said.
[[nodiscard]] WrongUsage explained(const CLI::ParseError& error, const CLI::App& app,
                                   const std::vector<std::string>& arguments);

}  // namespace leasehold::cli
