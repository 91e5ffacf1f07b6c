#pragma once

#include "commands/command.hpp"

// There is one counter. Seeing its next number takes an exclusive lock.
namespace customers {

class ShowCounter final : public Command {
    [[nodiscard]] web::Response process(Visit& visit) override;
};

class OpenCounter final : public Command {
    [[nodiscard]] web::Response process(Visit& visit) override;
};

class TakeNumber final : public Command {
    [[nodiscard]] web::Response process(Visit& visit) override;
};

class PutNumberBack final : public Command {
    [[nodiscard]] web::Response process(Visit& visit) override;
};

}  // namespace customers
