#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "commands/command.hpp"

namespace customers::web {

struct Route {
    std::unique_ptr<Command> command{};  // none where the path is not known, or not by that method
    std::vector<std::string> names{};    // what the path left open
    std::string allowed{};               // the methods that the path has; empty: not known
    bool is_activity = true;             // whether somebody did it, and not a page by itself
};

// The command for a request.
[[nodiscard]] Route find_route(std::string_view method, std::string_view path);

}  // namespace customers::web
