#pragma once

#include <string>
#include <vector>

#include "conformance/harness.hpp"

struct pg_conn;

namespace leasehold::conformance {

// A program's own connection to the database of the running test. Not thread-safe.
class PostgresConnection {
public:
    using Rows = std::vector<std::vector<std::string>>;

    PostgresConnection();
    PostgresConnection(const PostgresConnection&) = delete;
    PostgresConnection& operator=(const PostgresConnection&) = delete;
    ~PostgresConnection();

    // Parameters are $1, $2, ...; NULL reads as "". Throws std::runtime_error with the server's
    // message.
    Rows run(const std::string& sql, const std::vector<std::string>& parameters = {});

    [[nodiscard]] pg_conn* get() const { return connection_; }

private:
    pg_conn* connection_;
};

}  // namespace leasehold::conformance
