#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <leasehold/lease.hpp>

// What the application knows of a database. One folder for each that can be used; nothing of their
// drivers is seen outside.
namespace customers::database {

// The database could not do what it was told. Nobody knows whether a commit that failed happened.
class DatabaseError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// The fields of one row, in the order of the select.
using Row = std::vector<std::string>;
using Rows = std::vector<Row>;
using Parameters = std::vector<std::string>;

struct Answer {
    Rows rows{};
    std::size_t changed = 0;  // rows, by an insert, update or delete
};

enum class Purpose : std::uint8_t { reading, writing };

// One connection, for one thread at a time. Everything throws DatabaseError.
class Connection {
public:
    Connection() = default;
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    virtual ~Connection() = default;

    // One statement; every ? in it is one parameter.
    virtual Answer run(std::string_view sql, const Parameters& parameters) = 0;
    Answer run(std::string_view sql) { return run(sql, {}); }

    // What is read in a reading transaction is of one moment.
    virtual void begin(Purpose purpose) = 0;
    void commit() { run("commit"); }
    void roll_back() { run("rollback"); }

    // Leasehold's own, in the transaction that was begun here.
    [[nodiscard]] virtual leasehold::Result<leasehold::Lease> guard(const leasehold::LockKey& key,
                                                                    leasehold::LockId lock_id) = 0;
    virtual leasehold::Result<leasehold::Lease> release(const leasehold::LockKey& key,
                                                        leasehold::LockId lock_id) = 0;

    // What a `create table` needs at its end.
    [[nodiscard]] virtual std::string table_options() const { return {}; }
};

// By the URL that leasehold::open_store() takes: sqlite:, postgres: or mariadb:.
[[nodiscard]] std::unique_ptr<Connection> connect(const std::string& url);

}  // namespace customers::database
