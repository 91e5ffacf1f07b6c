#pragma once

#include <string_view>

namespace leasehold::server {

// openapi.json, which says what this server is asked and answers.
extern const std::string_view description;

}  // namespace leasehold::server
