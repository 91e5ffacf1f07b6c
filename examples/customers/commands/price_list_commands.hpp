#pragma once

#include "commands/command.hpp"

// There is one price list. Reading it takes a shared lock, editing it an exclusive one.
namespace customers {

// Shows who reads or edits the price list, without prices: seeing prices takes the lock.
class ShowPriceList final : public Command {
    [[nodiscard]] web::Response process(Visit& visit) override;
};

class ReadPriceList final : public Command {
    [[nodiscard]] web::Response process(Visit& visit) override;
};

// Converts the lock of a single reader from reading to editing.
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
