#pragma once

#include <memory>
#include <string_view>

#include "database/pool.hpp"

namespace customers::database {

// A system transaction: begins with the first statement, so that locks can be taken before anything
// is read, and is rolled back unless committed. For one thread.
class Transaction {
public:
    explicit Transaction(Pool& pool) : pool_{pool} {}
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    ~Transaction() { roll_back(); }

    [[nodiscard]] bool has_begun() const { return connection_ != nullptr; }

    [[nodiscard]] Rows query(std::string_view sql, const Parameters& parameters = {});
    // Returns the number of rows it changed. A transaction that writes must begin with a write or
    // with the guard.
    std::size_t change(std::string_view sql, const Parameters& parameters = {});

    // Is the lease alive? Then nobody can take the key before this transaction ends.
    [[nodiscard]] leasehold::Result<leasehold::Lease> guard(const leasehold::LockKey& key,
                                                            leasehold::LockId lock_id);
    // Ends the lease together with this transaction.
    leasehold::Result<leasehold::Lease> release(const leasehold::LockKey& key,
                                                leasehold::LockId lock_id);

    void commit();
    void roll_back() noexcept;

private:
    Connection& connection(Purpose purpose);

    Pool& pool_;
    std::unique_ptr<Connection> connection_;
    Purpose purpose_ = Purpose::reading;
};

}  // namespace customers::database
