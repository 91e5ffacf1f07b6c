#include "commands/business_transaction.hpp"

namespace customers {

BusinessTransaction::BusinessTransaction(LockDesk& desk, database::Pool& pool,
                                         const kit::Visitor& visitor, const std::string& tab)
    : transaction_{pool}, locks_{desk.locks, visitor, tab, desk.ttl} {}

leasehold::LockId BusinessTransaction::continue_with(const std::string& lock_id) {
    return leasehold::LockId::parse(lock_id).value_or(leasehold::LockId{});
}

std::vector<CustomerLine> BusinessTransaction::customer_lines() {
    return list_customers(transaction_);
}

void BusinessTransaction::commit() {
    transaction_.commit();
    locks_.keep();
}

void BusinessTransaction::roll_back() noexcept {
    transaction_.roll_back();
    locks_.give_back();
}

}  // namespace customers
