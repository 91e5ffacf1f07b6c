#include "database/transaction.hpp"

#include <utility>

namespace customers::database {
namespace {

std::unique_ptr<Connection> begin(Pool& pool, Purpose purpose) {
    try {
        auto connection = pool.take();
        connection->begin(purpose);
        return connection;
    } catch (const DatabaseError&) {
        // The database closed the connection while it was idle.
        auto connection = pool.open();
        connection->begin(purpose);
        return connection;
    }
}

}  // namespace

Rows Transaction::query(std::string_view sql, const Parameters& parameters) {
    return connection(Purpose::reading).run(sql, parameters).rows;
}

std::size_t Transaction::change(std::string_view sql, const Parameters& parameters) {
    return connection(Purpose::writing).run(sql, parameters).changed;
}

leasehold::Result<leasehold::Lease> Transaction::guard(const leasehold::LockKey& key,
                                                       leasehold::LockId lock_id) {
    return connection(Purpose::writing).guard(key, lock_id);
}

leasehold::Result<leasehold::Lease> Transaction::release(const leasehold::LockKey& key,
                                                         leasehold::LockId lock_id) {
    return connection(Purpose::writing).release(key, lock_id);
}

void Transaction::commit() {
    if (!has_begun()) return;
    // A connection whose commit fails is not used again.
    auto connection = std::move(connection_);
    connection->commit();
    pool_.give_back(std::move(connection));
}

void Transaction::roll_back() noexcept {
    if (!has_begun()) return;
    auto connection = std::move(connection_);
    try {
        connection->roll_back();
        pool_.give_back(std::move(connection));
    } catch (const std::exception&) {
        // Closing the connection rolls back as well.
    }
}

Connection& Transaction::connection(Purpose purpose) {
    if (!connection_) {
        connection_ = begin(pool_, purpose);
        purpose_ = purpose;
    }
    if (purpose == Purpose::writing && purpose_ == Purpose::reading) {
        throw std::logic_error{"a transaction that writes begins with the guard"};
    }
    return *connection_;
}

}  // namespace customers::database
