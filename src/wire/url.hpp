#pragma once

#include <string>
#include <string_view>

namespace leasehold::wire {

// Appends a name as one part of a path: what is not plain is %XX, a slash included.
void append_encoded(std::string& out, std::string_view name);

}  // namespace leasehold::wire
