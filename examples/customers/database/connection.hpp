#pragma once

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <leasehold/web/transaction.hpp>

// The application's interface to a database. Each driver is used in one file only.
namespace customers::database {

// The database reported an error. Whether a failed commit took effect is unknown.
class DatabaseError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// The fields of one row, in the order of the select.
using Row = std::vector<std::string>;
using Parameters = std::vector<std::string>;

struct Answer {
    std::vector<Row> rows{};
    std::size_t changed = 0;  // rows, by an insert, update or delete
};

using leasehold::web::Purpose;

// One connection, for one thread at a time. Everything throws DatabaseError.
class Connection {
public:
    Connection() = default;
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    virtual ~Connection() = default;

    // One statement; every ? in it is one parameter.
    Answer run(std::string_view sql, const Parameters& parameters = {}) {
        return execute(sql, parameters);
    }
    // A reading transaction reads one snapshot.
    virtual void begin(Purpose purpose) = 0;
    void commit() { run("commit"); }
    void roll_back() { run("rollback"); }

    // Leasehold's guard and release, in this transaction.
    [[nodiscard]] virtual leasehold::Result<leasehold::Lease> guard(const leasehold::LockKey& key,
                                                                    leasehold::LockId lock_id) = 0;
    virtual leasehold::Result<leasehold::Lease> release(const leasehold::LockKey& key,
                                                        leasehold::LockId lock_id) = 0;

    // The end of a `create table` statement.
    [[nodiscard]] virtual std::string table_options() const { return {}; }

private:
    virtual Answer execute(std::string_view sql, const Parameters& parameters) = 0;
};

// By the URL that leasehold::open_store() takes: sqlite:, postgres:, mysql: or mariadb:.
[[nodiscard]] std::unique_ptr<Connection> connect(const std::string& url);

using Pool = leasehold::web::ConnectionPool<Connection>;
using Transaction = leasehold::web::Transaction<Connection>;

[[nodiscard]] std::unique_ptr<Connection> connect_sqlite(const std::string& url);
[[nodiscard]] std::unique_ptr<Connection> connect_postgres(const std::string& url);
// Both MySQL and MariaDB.
[[nodiscard]] std::unique_ptr<Connection> connect_mariadb(const std::string& url);

}  // namespace customers::database
