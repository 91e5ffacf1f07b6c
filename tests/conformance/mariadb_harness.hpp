#pragma once

#include <string>
#include <variant>
#include <vector>

#include <leasehold/stores/mysql.hpp>

#include "conformance/harness.hpp"

struct st_mysql;

namespace leasehold::conformance {

// MariaDB and MySQL: their tests differ only in this.
enum class MariadbOr : std::uint8_t { mariadb, mysql };

// The server and the database that the tests use.
[[nodiscard]] mariadb::Login login_of_the_tests(MariadbOr product);
[[nodiscard]] std::unique_ptr<Store> open_store_of_the_tests(MariadbOr product,
                                                             const mariadb::Login& login,
                                                             const StoreOptions& options);

// A program's own connection to that database. Not thread-safe.
class MariadbConnection {
public:
    using Rows = std::vector<std::vector<std::string>>;

    explicit MariadbConnection(MariadbOr product);
    MariadbConnection(const MariadbConnection&) = delete;
    MariadbConnection& operator=(const MariadbConnection&) = delete;
    ~MariadbConnection();

    // NULL reads as "". Throws std::runtime_error with the server's message.
    Rows run(const std::string& sql);
    // The same as a prepared statement, with a value for each `?`. A time is sent as a TIMESTAMP in
    // UTC.
    using Value = std::variant<std::string, Time>;
    Rows run_prepared(const std::string& sql, const std::vector<Value>& values);
    [[nodiscard]] std::string quoted(const std::string& text);

    // In the transaction that is open here.
    [[nodiscard]] Result<Lease> guard(const LockKey& key, LockId lock_id,
                                      Duration patience = Limits{}.busy_patience);
    Result<Lease> release(const LockKey& key, LockId lock_id);
    [[nodiscard]] Result<Lease> guard(const CoarseGrained& aggregates, const LockKey& member,
                                      LockId lock_id);
    Result<Lease> release(const CoarseGrained& aggregates, const LockKey& member, LockId lock_id);

    // See CallerTransaction.
    void die();

private:
    [[noreturn]] void fail(const std::string& what) const;

    MariadbOr product_;
    st_mysql* connection_;
};

}  // namespace leasehold::conformance
