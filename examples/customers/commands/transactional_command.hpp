#pragma once

#include <memory>
#include <utility>

#include "commands/command.hpp"

namespace customers {

// Puts a system transaction around a command: what it did is committed if it answers with success,
// and undone, locks it took included, if it answers with a refusal or throws.
class TransactionalCommand final : public Command {
public:
    explicit TransactionalCommand(std::unique_ptr<Command> command)
        : command_{std::move(command)} {}

    [[nodiscard]] web::Response process(Visit& visit) override;

private:
    std::unique_ptr<Command> command_;
};

}  // namespace customers
