#include "database/transaction.hpp"

namespace customers::database {

std::unique_ptr<Connection> Pool::begin(Purpose purpose) {
    if (auto idle = take_idle()) {
        try {
            idle->begin(purpose);
            return idle;
        } catch (const DatabaseError&) {
            // The database closed the connection while it was idle.
        }
    }
    auto connection = connect(url_);
    connection->begin(purpose);
    return connection;
}

std::unique_ptr<Connection> Pool::take_idle() {
    const std::scoped_lock lock{mutex_};
    if (idle_.empty()) return nullptr;
    auto connection = std::move(idle_.back());
    idle_.pop_back();
    return connection;
}

void Pool::give_back(std::unique_ptr<Connection> connection) {
    const std::scoped_lock lock{mutex_};
    idle_.push_back(std::move(connection));
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
        connection_ = pool_.begin(purpose);
        purpose_ = purpose;
    }
    if (purpose == Purpose::writing && purpose_ == Purpose::reading) {
        throw std::logic_error{"a transaction that writes begins with the guard"};
    }
    return *connection_;
}

}  // namespace customers::database
