#pragma once

#include "commands/command.hpp"

// There is one price list. Reading it takes a shared lock, editing it an exclusive one.
namespace customers {

// Who reads or edits it. Shows no price: prices are shown to those who hold the lock.
class ShowPriceList final : public Command {
    [[nodiscard]] web::Response process(Visit& visit) override;
};

class ReadPriceList final : public Command {
    [[nodiscard]] web::Response process(Visit& visit) override;
};

// Somebody who reads it alone goes over to editing in one step.
class EditPriceList final : public Command {
    [[nodiscard]] web::Response process(Visit& visit) override;
};

class ReopenPriceList final : public Command {
    [[nodiscard]] web::Response process(Visit& visit) override;
};

class SavePriceList final : public Command {
    [[nodiscard]] web::Response process(Visit& visit) override;
};

class LeavePriceList final : public Command {
    [[nodiscard]] web::Response process(Visit& visit) override;
};

}  // namespace customers
