#pragma once

#include "commands/command.hpp"

namespace customers {

// The end of the session: its locks end with it.
class SignOut final : public Command {
    [[nodiscard]] web::Response process(Visit& visit) override;
};

// Asks the holder of a lock to finish; for pages without a script.
class KnockOnLock final : public Command {
    [[nodiscard]] web::Response process(Visit& visit) override;
};

}  // namespace customers
