#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

// Connector/C's MYSQL and MYSQL_STMT
struct st_mysql;
struct st_mysql_stmt;

namespace leasehold::bench {

// InnoDB rolled the transaction back in favour of another one: it has to be done again.
struct Deadlock : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class MariadbStatement;

// One connection to a private server; for one thread at a time. Everything throws
// std::runtime_error with the server's message.
class MariadbClient {
public:
    MariadbClient(std::uint16_t port, const std::string& database);

    void execute(const std::string& sql);
    [[nodiscard]] MariadbStatement prepare(std::string_view sql);

private:
    struct Close {
        void operator()(st_mysql* connection) const noexcept;
    };
    std::unique_ptr<st_mysql, Close> connection_;
};

// A prepared statement. The client outlives it.
class MariadbStatement {
public:
    // How many rows it returned or changed.
    std::size_t run(std::initializer_list<std::string_view> parameters = {});
    // The first column of the first row, a short text, if there is one.
    std::optional<std::string> find(std::initializer_list<std::string_view> parameters);

private:
    friend class MariadbClient;
    struct Close {
        void operator()(st_mysql_stmt* statement) const noexcept;
    };
    explicit MariadbStatement(st_mysql_stmt* statement) : statement_{statement} {}
    void execute(std::initializer_list<std::string_view> parameters);

    std::unique_ptr<st_mysql_stmt, Close> statement_;
};

}  // namespace leasehold::bench
