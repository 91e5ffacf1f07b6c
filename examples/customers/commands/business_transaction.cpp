#include "commands/business_transaction.hpp"

#include "mapping/counter_mapper.hpp"
#include "mapping/customer_mapper.hpp"
#include "mapping/price_list_mapper.hpp"

namespace customers {

BusinessTransaction::BusinessTransaction(LockDesk& desk, database::Pool& pool,
                                         const AppSession& session, const std::string& tab)
    : transaction_{pool},
      locks_{desk, session, tab},
      customers_{std::make_unique<CustomerMapper>(transaction_), locks_, transaction_},
      price_lists_{std::make_unique<PriceListMapper>(transaction_), locks_, transaction_},
      counters_{std::make_unique<CounterMapper>(transaction_), locks_, transaction_} {}

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
