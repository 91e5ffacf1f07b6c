#pragma once

#include <string>
#include <string_view>

namespace leasehold {

// An owner below `wide` that nobody else is: "host-1/hold-5c0f3a9e". `kind` says what it is for.
[[nodiscard]] std::string unique_owner(std::string_view wide, std::string_view kind);

}  // namespace leasehold
