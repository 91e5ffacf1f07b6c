#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "database/connection.hpp"

namespace customers::database {

// Connections that are open and idle. Thread-safe. There are as many as requests were ever under
// way at once, which the number of the web server's threads bounds.
class Pool {
public:
    explicit Pool(std::string url) : url_{std::move(url)} {}

    // An idle connection or a new one, with a transaction begun.
    [[nodiscard]] std::unique_ptr<Connection> begin(Purpose purpose);
    // Takes back a connection without a transaction and without an error.
    void give_back(std::unique_ptr<Connection> connection);

private:
    [[nodiscard]] std::unique_ptr<Connection> take_idle();

    const std::string url_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<Connection>> idle_;  // guarded by mutex_
};

// A system transaction: begins with the first statement, so that locks can be taken before anything
// is read, and is rolled back unless committed. One that writes must begin with a write or with the
// guard. For one thread.
class Transaction {
public:
    explicit Transaction(Pool& pool) : pool_{pool} {}
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    ~Transaction() { roll_back(); }

    [[nodiscard]] bool has_begun() const { return connection_ != nullptr; }

    [[nodiscard]] std::vector<Row> query(std::string_view sql, const Parameters& parameters = {}) {
        return connection(Purpose::reading).run(sql, parameters).rows;
    }
    // Returns the number of rows it changed.
    std::size_t change(std::string_view sql, const Parameters& parameters = {}) {
        return connection(Purpose::writing).run(sql, parameters).changed;
    }

    // Is the lease alive? Then nobody can take the key before this transaction ends.
    [[nodiscard]] leasehold::Result<leasehold::Lease> guard(const leasehold::LockKey& key,
                                                            leasehold::LockId lock_id) {
        return connection(Purpose::writing).guard(key, lock_id);
    }
    // Ends the lease together with this transaction.
    leasehold::Result<leasehold::Lease> release(const leasehold::LockKey& key,
                                                leasehold::LockId lock_id) {
        return connection(Purpose::writing).release(key, lock_id);
    }

    void commit();
    void roll_back() noexcept;

private:
    Connection& connection(Purpose purpose);

    Pool& pool_;
    std::unique_ptr<Connection> connection_;
    Purpose purpose_ = Purpose::reading;
};

}  // namespace customers::database
