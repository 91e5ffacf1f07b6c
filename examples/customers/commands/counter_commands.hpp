#pragma once

#include "commands/command.hpp"

// There is one counter. Whoever wants to see its next number is alone with it.
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
