#pragma once

#include <concepts>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <utility>
#include <vector>

#include <leasehold/lease.hpp>

namespace leasehold::web {

enum class Purpose : std::uint8_t { reading, writing };

// Your connection to the database. begin(), commit() and roll_back() throw if they fail; guard()
// and release() call the functions of the same names in the store's header.
template <class C>
concept TransactionConnection =
    requires(C& connection, Purpose purpose, const LockKey& key, LockId lock_id) {
        connection.begin(purpose);
        connection.commit();
        connection.roll_back();
        { connection.guard(key, lock_id) } -> std::same_as<Result<Lease>>;
        { connection.release(key, lock_id) } -> std::same_as<Result<Lease>>;
    };

// Connections that are open and idle. Thread-safe. There are as many as transactions were ever
// under way at once, which the number of your web server's threads bounds.
template <TransactionConnection C>
class ConnectionPool {
public:
    // `open` is called on many threads, and throws if it cannot connect.
    explicit ConnectionPool(std::function<std::unique_ptr<C>()> open) : open_{std::move(open)} {}

    // An idle connection or a new one, with a transaction begun. The database may have closed an
    // idle one.
    [[nodiscard]] std::unique_ptr<C> begin(Purpose purpose) {
        if (auto idle = take_idle()) {
            try {
                idle->begin(purpose);
                return idle;
            } catch (const std::exception&) {
                // A new connection says whether this is a lasting fault.
            }
        }
        auto connection = open_();
        connection->begin(purpose);
        return connection;
    }
    // Takes back a connection without a transaction and without an error.
    void give_back(std::unique_ptr<C> connection) {
        const std::scoped_lock lock{mutex_};
        idle_.push_back(std::move(connection));
    }

private:
    [[nodiscard]] std::unique_ptr<C> take_idle() {
        const std::scoped_lock lock{mutex_};
        if (idle_.empty()) return nullptr;
        auto connection = std::move(idle_.back());
        idle_.pop_back();
        return connection;
    }

    const std::function<std::unique_ptr<C>()> open_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<C>> idle_;  // guarded by mutex_
};

// A database transaction for LockingRepository: begins with its first statement, so that locks can
// be taken before anything is read, and is rolled back unless you commit it. For one request.
template <TransactionConnection C>
class Transaction {
public:
    // `pool` outlives this.
    explicit Transaction(ConnectionPool<C>& pool) : pool_{pool} {}
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    ~Transaction() { roll_back(); }

    [[nodiscard]] bool has_begun() const noexcept { return connection_ != nullptr; }

    // Your connection, in the transaction. A transaction that writes must begin with writing() or
    // guard(): writing() after reading() throws std::logic_error.
    [[nodiscard]] C& reading() { return connection(Purpose::reading); }
    [[nodiscard]] C& writing() { return connection(Purpose::writing); }

    // Whether the lease is alive. Then nobody can take the key before this transaction ends.
    [[nodiscard]] Result<Lease> guard(const LockKey& key, LockId lock_id) {
        return writing().guard(key, lock_id);
    }
    // Ends the lease together with this transaction.
    Result<Lease> release(const LockKey& key, LockId lock_id) {
        return writing().release(key, lock_id);
    }

    // Does nothing if no statement was made. If it throws, the effect may be unknown; the
    // connection is closed.
    void commit() {
        if (!has_begun()) return;
        auto connection = std::move(connection_);
        connection->commit();
        pool_.give_back(std::move(connection));
    }
    void roll_back() noexcept {
        if (!has_begun()) return;
        auto connection = std::move(connection_);
        try {
            connection->roll_back();
            pool_.give_back(std::move(connection));
        } catch (const std::exception&) {
            // Closing the connection rolls back as well.
        }
    }

private:
    C& connection(Purpose purpose) {
        if (!connection_) {
            connection_ = pool_.begin(purpose);
            purpose_ = purpose;
        }
        if (purpose == Purpose::writing && purpose_ == Purpose::reading) {
            throw std::logic_error{"a transaction that writes begins with the guard"};
        }
        return *connection_;
    }

    ConnectionPool<C>& pool_;
    std::unique_ptr<C> connection_;
    Purpose purpose_ = Purpose::reading;
};

}  // namespace leasehold::web
