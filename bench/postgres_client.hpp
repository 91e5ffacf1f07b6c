#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>

// libpq's PGconn
struct pg_conn;

namespace leasehold::bench {

// One connection with prepared statements; for one thread at a time. Throws std::runtime_error with
// the server's message.
class PostgresClient {
public:
    explicit PostgresClient(const std::string& url);

    // Any statements, for setting up.
    void execute(const std::string& sql);

    void prepare(const char* name, const char* sql);
    // Runs a prepared statement: how many rows it returned or changed.
    std::size_t run(const char* name, std::initializer_list<const char*> parameters = {});
    // The same: the first column of the first row, if there is one.
    std::optional<std::string> find(const char* name,
                                    std::initializer_list<const char*> parameters);

private:
    struct Close {
        void operator()(pg_conn* connection) const noexcept;
    };
    std::unique_ptr<pg_conn, Close> connection_;
};

}  // namespace leasehold::bench
