#pragma once

#include <string>
#include <vector>

#include <leasehold/stores/mariadb.hpp>

#include "conformance/harness.hpp"

struct st_mysql;

namespace leasehold::conformance {

// The server and the database that the tests use.
[[nodiscard]] mariadb::Login mariadb_of_the_tests();

// A connection of a program's own to that database. Not thread-safe.
class MariadbConnection {
public:
    using Rows = std::vector<std::vector<std::string>>;

    MariadbConnection();
    MariadbConnection(const MariadbConnection&) = delete;
    MariadbConnection& operator=(const MariadbConnection&) = delete;
    ~MariadbConnection();

    // NULL reads as "". Throws std::runtime_error with the server's message.
    Rows run(const std::string& sql);
    [[nodiscard]] std::string quoted(const std::string& text);

    [[nodiscard]] st_mysql* get() const { return connection_; }

private:
    [[noreturn]] void fail(const std::string& what) const;

    st_mysql* connection_;
};

}  // namespace leasehold::conformance
