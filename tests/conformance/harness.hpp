#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <leasehold/coarse_grained.hpp>
#include <leasehold/protection.hpp>
#include <leasehold/store.hpp>

// What each store provides to the conformance suite.
namespace leasehold::conformance {

// A store for one test, empty at first. Thread-safe, except for let_pass().
class StoreHarness {
public:
    StoreHarness() = default;
    StoreHarness(const StoreHarness&) = delete;
    StoreHarness& operator=(const StoreHarness&) = delete;
    virtual ~StoreHarness() = default;

    // Another handle on the same leases, as another process would have. All handles of one test use
    // the same options.
    [[nodiscard]] virtual std::unique_ptr<Store> open(StoreOptions options = {}) = 0;

    // The same store, opened by a later version whose schema has one more step. Only for stores
    // whose leases live in a database.
    [[nodiscard]] virtual std::unique_ptr<Store> open_later_version() {
        throw std::logic_error{"this store has no schema"};
    }

    // Turns the store into what version 1 of the schema would have left. No handle may be open.
    // Only for stores whose leases live in a database.
    virtual void become_version_1() { throw std::logic_error{"this store has no schema"}; }

    // Writes the number into the field `mode` or `ended` of every row, as a damaged database or a
    // foreign program would. Only for stores whose leases live in a database.
    virtual void overwrite(const std::string& /*field*/, int /*number*/) {
        throw std::logic_error{"this store keeps no rows"};
    }

    // Moves every lease's times as if that much time had passed. No transaction may be open.
    virtual void let_pass(Duration duration) = 0;

    // Everything that the store keeps, as text, to prove that a request wrote nothing.
    [[nodiscard]] virtual std::string dump() = 0;

    // The number of threads in a race.
    [[nodiscard]] virtual std::size_t crowd() const = 0;
};

// The application's side: a connection to the same database, with a table of its own. Rolled back
// at destruction unless committed. Not thread-safe.
class CallerTransaction {
public:
    CallerTransaction() = default;
    CallerTransaction(const CallerTransaction&) = delete;
    CallerTransaction& operator=(const CallerTransaction&) = delete;
    virtual ~CallerTransaction() = default;

    [[nodiscard]] virtual Result<Lease> guard(const LockKey& key, LockId lock_id) = 0;
    virtual Result<Lease> release(const LockKey& key, LockId lock_id) = 0;
    // The same for a member of an aggregate.
    [[nodiscard]] virtual Result<Lease> guard(const CoarseGrained& aggregates,
                                              const LockKey& member, LockId lock_id) = 0;
    virtual Result<Lease> release(const CoarseGrained& aggregates, const LockKey& member,
                                  LockId lock_id) = 0;

    virtual void write(const std::string& record, const std::string& text) = 0;
    // Empty if nothing was written.
    [[nodiscard]] virtual std::string read(const std::string& record) = 0;

    virtual void begin() = 0;
    virtual void commit() = 0;
    virtual void rollback() = 0;

    // Any statement. NULL reads as "". Throws std::runtime_error with the database's message.
    using Rows = std::vector<std::vector<std::string>>;
    virtual Rows run(const std::string& sql) = 0;
    // guard() in plain SQL, as another language would call it. Returns the fence. The message of a
    // failure is the database's alone.
    virtual Fence guard_in_sql(const LockKey& key, const std::string& lock_id) = 0;
    // From now on a statement fails at once instead of waiting for another transaction.
    virtual void wait_for_nobody() = 0;
    // The next transactions see what was committed before they first read.
    virtual void repeat_reads() = 0;
    // Ends the connection as the death of its process would: without notice to the database.
    virtual void die() = 0;
};

// A harness of a store that lives in the application's own database.
class SqlHarness : public StoreHarness {
public:
    // What a try of another key may be answered while a transaction guards a key. This is the only
    // accepted difference between the stores: SQLite has one writer at a time.
    enum class OtherKeys : std::uint8_t {
        granted,
        granted_or_busy,
    };
    [[nodiscard]] virtual OtherKeys other_keys_beside_a_transaction() const = 0;

    [[nodiscard]] virtual std::unique_ptr<TableProtection> protection() = 0;
    // The name as an SQL identifier, whatever characters it contains.
    [[nodiscard]] virtual std::string quoted(const std::string& name) const = 0;
    // The number of rows of all tables that the database has read since it was started. No handle
    // may be open. Only for servers.
    [[nodiscard]] virtual std::int64_t rows_read() {
        throw std::logic_error{"this store counts no rows"};
    }
    // Lets the database update its statistics about the sizes of the tables. Only for servers.
    virtual void analyze() { throw std::logic_error{"this store has no statistics"}; }

    // Drops a trigger of a protected table by hand.
    virtual void drop_a_trigger(const std::string& table) = 0;

    // A connection on which no transaction has begun.
    [[nodiscard]] virtual std::unique_ptr<CallerTransaction> connect() = 0;

    [[nodiscard]] std::unique_ptr<CallerTransaction> begin() {
        auto transaction = connect();
        transaction->begin();
        return transaction;
    }
};

[[nodiscard]] std::unique_ptr<StoreHarness> make_memory_harness();
[[nodiscard]] std::unique_ptr<StoreHarness> make_http_harness();
[[nodiscard]] std::unique_ptr<StoreHarness> make_etcd_harness();
[[nodiscard]] std::unique_ptr<SqlHarness> make_sqlite_harness();
[[nodiscard]] std::unique_ptr<SqlHarness> make_postgres_harness();
// PostgreSQL through several connections, as if it were at a distance.
[[nodiscard]] std::unique_ptr<SqlHarness> make_distant_harness();
[[nodiscard]] std::unique_ptr<SqlHarness> make_mariadb_harness();
[[nodiscard]] std::unique_ptr<SqlHarness> make_mysql_harness();

// Waits until the real clock, which the SQL stores use, has moved this far. For leases that must
// expire while a transaction is open, because let_pass() cannot change their rows then.
void wait_out(Duration duration);

}  // namespace leasehold::conformance
