#pragma once

#include <string>
#include <utility>
#include <vector>

#include "commands/command.hpp"

namespace customers::web {

// The one place where requests come in: finds out who asks and whether the form is genuine, chooses
// the command, and puts a system transaction around it. Thread-safe.
class FrontController {
public:
    // All but `hosts` outlive this. Of hosts, none means any.
    FrontController(LockDesk& desk, database::Pool& pool, kit::Sessions& sessions,
                    std::vector<std::string> hosts)
        : desk_{desk}, pool_{pool}, sessions_{sessions}, hosts_{std::move(hosts)} {}

    // Always answers; what is thrown on the way becomes a page that keeps what was typed.
    [[nodiscard]] Response handle(kit::Request plain);

private:
    [[nodiscard]] Response answer(Request& request);
    [[nodiscard]] Response answer_guard(Request& request);
    [[nodiscard]] Response sign_in(const Request& request);
    [[nodiscard]] Response command(Request& request, const kit::SignedIn& session);
    [[nodiscard]] Response run(const Route& route, const Request& request,
                               const kit::SignedIn& session);

    LockDesk& desk_;
    database::Pool& pool_;
    kit::Sessions& sessions_;
    const std::vector<std::string> hosts_;
};

}  // namespace customers::web
