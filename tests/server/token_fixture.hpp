#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/access/tokens.hpp"
#include "server/server_fixture.hpp"

namespace leasehold::testing {

// A token whose secret is its name behind "secret-of-".
[[nodiscard]] inline server::Token token(const std::string& name, server::Roles roles,
                                         std::string owner = std::string{server::any_owner},
                                         std::optional<server::Rate> rate = {}) {
    return {.name = name,
            .digest = server::digest_of("secret-of-" + name),
            .roles = roles,
            .owner = std::move(owner),
            .rate = rate};
}

[[nodiscard]] inline std::shared_ptr<const server::Tokens> tokens(std::vector<server::Token> all) {
    return std::make_shared<const server::Tokens>(std::move(all));
}

// The field that shows it.
[[nodiscard]] inline std::string shows(std::string_view name) {
    return "Authorization: Bearer secret-of-" + std::string{name} + "\r\n";
}

}  // namespace leasehold::testing
