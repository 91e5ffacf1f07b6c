#pragma once

#include <string>
#include <vector>

#include "faults/laboratory/round.hpp"

namespace leasehold::faults {

// A line for each store and fault, as Markdown.
[[nodiscard]] std::string table(const std::vector<Round>& rounds);

// The number of violations of each kind, and the first one of each.
[[nodiscard]] std::string some_of(const std::vector<std::string>& violations);

// Grants a second, with the faults marked, as SVG.
[[nodiscard]] std::string plot(const Round& round);

}  // namespace leasehold::faults
