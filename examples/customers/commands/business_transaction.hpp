#pragma once

#include <string>
#include <vector>

#include <leasehold/web/locking_repository.hpp>
#include <leasehold/web/tab_locks.hpp>

#include "database/connection.hpp"
#include "locks/lock_desk.hpp"
#include "mapping/mapper.hpp"

namespace customers {

// The way to records of one kind: locks before it loads, and guards before it saves.
template <class T>
using Locking = kit::LockingRepository<Mapper<T>, database::Transaction>;

// One step of a business transaction: a person in a tab, the system transaction of this request,
// and the way to the records, which leads through their locks. For one thread.
//
// A business transaction lasts from the command that opens a record to the one that saves or
// leaves it. Between the two there is only its lock, and the form that carries the lock id.
class BusinessTransaction {
public:
    BusinessTransaction(LockDesk& desk, database::Pool& pool, const kit::Visitor& visitor,
                        const std::string& tab)
        : transaction_{pool}, locks_{desk.locks, visitor, tab, desk.ttl} {}

    // Ends what this tab was doing before.
    void start_new() { locks_.start_anew(); }
    // The lock id that the form carries. Nil if it carries none, or no valid one.
    [[nodiscard]] static leasehold::LockId continue_with(const std::string& lock_id) {
        return leasehold::LockId::parse(lock_id).value_or(leasehold::LockId{});
    }
    // Ends the business transaction without a save.
    void abandon(const leasehold::LockKey& key, leasehold::LockId lock_id) {
        locks_.release(key, lock_id);
    }

    [[nodiscard]] Locking<Customer>& customers() { return customers_; }
    [[nodiscard]] Locking<PriceList>& price_lists() { return price_lists_; }
    [[nodiscard]] Locking<Counter>& counters() { return counters_; }
    [[nodiscard]] std::vector<CustomerLine> customer_lines() {
        return list_customers(transaction_);
    }

    [[nodiscard]] const kit::TabLocks& locks() const { return locks_; }

    void commit() {
        transaction_.commit();
        locks_.keep();
    }
    void roll_back() noexcept {
        transaction_.roll_back();
        locks_.give_back();
    }

private:
    database::Transaction transaction_;
    kit::TabLocks locks_;
    Mapper<Customer> customer_mapper_{transaction_};
    Mapper<PriceList> price_list_mapper_{transaction_};
    Mapper<Counter> counter_mapper_{transaction_};
    Locking<Customer> customers_{customer_mapper_, locks_, transaction_, lock_rule<Customer>};
    Locking<PriceList> price_lists_{price_list_mapper_, locks_, transaction_, lock_rule<PriceList>};
    Locking<Counter> counters_{counter_mapper_, locks_, transaction_, lock_rule<Counter>};
};

}  // namespace customers
