#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "commands/command.hpp"
#include "database/pool.hpp"
#include "locks/lock_desk.hpp"
#include "web/http.hpp"
#include "web/static_files.hpp"

namespace customers::web {

// The one place where requests come in: finds out who asks and whether the form is genuine, chooses
// the command, and puts a system transaction around it. Thread-safe.
class FrontController {
public:
    // All but `hosts` outlive this; of those, none means any.
    FrontController(LockDesk& desk, database::Pool& pool, kit::Sessions& sessions,
                    const StaticFiles& files, std::vector<std::string> hosts)
        : desk_{desk}, pool_{pool}, sessions_{sessions}, files_{files}, hosts_{std::move(hosts)} {}

    // Always answers; what is thrown on the way becomes a page that keeps what was typed.
    [[nodiscard]] Response handle(Request request);

private:
    [[nodiscard]] Response answer(Request& request);
    [[nodiscard]] Response answer_guard(Request& request);
    [[nodiscard]] Response answer_stranger(const Request& request) const;
    [[nodiscard]] Response sign_in(const Request& request);
    [[nodiscard]] Response command(Request& request, const kit::SignedIn& session);
    [[nodiscard]] Response run(std::unique_ptr<Command> command, const Request& request,
                               const kit::SignedIn& session);

    LockDesk& desk_;
    database::Pool& pool_;
    kit::Sessions& sessions_;
    const StaticFiles& files_;
    const std::vector<std::string> hosts_;
};

}  // namespace customers::web
