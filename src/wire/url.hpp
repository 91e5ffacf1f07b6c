#pragma once

#include <string>
#include <string_view>

namespace leasehold::wire {

// Appends a name as one part of a path. Special characters, slashes included, become %XX.
void append_encoded(std::string& out, std::string_view name);

}  // namespace leasehold::wire
