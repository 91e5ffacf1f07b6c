#pragma once

#include "commands/command.hpp"

// The routes leave the customer's id open, and an address's position.
namespace customers {

class ListCustomers final : public Command {
    [[nodiscard]] web::Response process(Visit& visit) override;
};

// Who edits which customer, for the list to show it live.
class ListMarks final : public Command {
    [[nodiscard]] web::Response process(Visit& visit) override;
};

class ViewCustomer final : public Command {
    [[nodiscard]] web::Response process(Visit& visit) override;
};

// Starts a business transaction: takes the lock, then loads.
class EditCustomer final : public Command {
    [[nodiscard]] web::Response process(Visit& visit) override;
};

// The same by a member of the aggregate: the lock is the customer's.
class EditAddress final : public Command {
    [[nodiscard]] web::Response process(Visit& visit) override;
};

// Starts another one with what was typed in the one whose lock was lost.
class ReopenCustomer final : public Command {
    [[nodiscard]] web::Response process(Visit& visit) override;
};

// Ends it: check, write and release.
class SaveCustomer final : public Command {
    [[nodiscard]] web::Response process(Visit& visit) override;
};

// Ends it without a save.
class CancelCustomer final : public Command {
    [[nodiscard]] web::Response process(Visit& visit) override;
};

}  // namespace customers
