#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "commands/command.hpp"

namespace customers::web {

struct Route {
    std::unique_ptr<Command> command{};  // null for an unknown path or method
    std::vector<std::string> names{};    // the parts of the path that match a *
    std::string allowed{};               // the methods that the path has; empty: not known
    bool is_activity = true;             // a person did it, not the page by itself
};

// The command for a request.
[[nodiscard]] Route find_route(std::string_view method, std::string_view path);

}  // namespace customers::web
