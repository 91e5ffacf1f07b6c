#pragma once

#include <string>

#include "database/transaction.hpp"
#include "locks/step_locks.hpp"
#include "mapping/locking_mapper.hpp"

namespace customers {

// One step of a business transaction: a person in a tab, the system transaction of this request,
// and the way to the objects, which leads through their locks. For one thread.
//
// A business transaction lasts from the command that opens an object to the one that saves or
// leaves it. Between the two there is only its lock, and the form that carries the lock id.
class BusinessTransaction {
public:
    BusinessTransaction(LockDesk& desk, database::Pool& pool, const AppSession& session,
                        const std::string& tab);

    // Ends what this tab was doing before.
    void start_new() { locks_.start_anew(); }
    // The lock id that the form carries. Nil if it carries none, or no valid one.
    [[nodiscard]] static leasehold::LockId continue_with(const std::string& lock_id);
    // Ends the business transaction without a save.
    void abandon(const leasehold::LockKey& key, leasehold::LockId lock_id) {
        locks_.release(key, lock_id);
    }

    [[nodiscard]] LockingMapper<Customer>& customers() { return customers_; }
    [[nodiscard]] LockingMapper<PriceList>& price_lists() { return price_lists_; }
    [[nodiscard]] LockingMapper<Counter>& counters() { return counters_; }
    [[nodiscard]] std::vector<CustomerLine> customer_lines();

    [[nodiscard]] const StepLocks& locks() const { return locks_; }

    void commit();
    void roll_back() noexcept;

private:
    database::Transaction transaction_;
    StepLocks locks_;
    LockingMapper<Customer> customers_;
    LockingMapper<PriceList> price_lists_;
    LockingMapper<Counter> counters_;
};

}  // namespace customers
