#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/process.hpp"

namespace leasehold::testing {

struct PrivateServerOptions {
    // For PostgreSQL "fsync=off", for MariaDB "--innodb-flush-log-at-trx-commit=0".
    std::vector<std::string> settings = {};
    // Settings for the first start only.
    std::vector<std::string> first_settings = {};
    // "NAME=value" for the server alone, as in "LD_PRELOAD=...", "FAKETIME=+1h".
    std::vector<std::string> environment = {};
};

// Of a server that never waits for the disk. All its settings are as they were. It keeps its data
// when it is killed, but a power cut could take them.
PrivateServerOptions without_flushes();

// A real PostgreSQL server: new data in a temporary folder, a port of 127.0.0.1, durable default
// settings, the superuser "postgres" without a password, and the database "locks". It ends with
// this object, or with the process. Throws std::runtime_error with the end of the server's log, or
// with the Debian package that is missing. Any thread may call url() and port(); call the other
// functions from one thread at a time.
class PrivatePostgres {
public:
    explicit PrivatePostgres(PrivateServerOptions options = {});
    // Begins with a copy of the primary's data and follows the primary, through a gate's port,
    // under the name "standby".
    struct StandbyOf {
        std::uint16_t port;
    };
    explicit PrivatePostgres(StandbyOf of, PrivateServerOptions options = {});
    ~PrivatePostgres();
    PrivatePostgres(const PrivatePostgres&) = delete;
    PrivatePostgres& operator=(const PrivatePostgres&) = delete;

    std::uint16_t port() const { return port_; }
    std::string url(std::string_view database = "locks") const { return url(database, port_); }
    // The URL of the same server through another port, such as a TcpGate's.
    std::string url(std::string_view database, std::uint16_t port) const;
    // While it runs.
    pid_t pid() const { return server_->pid(); }
    const std::filesystem::path& folder() const { return folder_.path(); }

    void create_database(const std::string& name);
    // Makes a standby the primary.
    void promote();

    // SIGKILL; returns when every process of the server is gone.
    void kill();
    // After kill(): starts the server with the same data and port. Returns when it accepts
    // connections.
    void start();
    // SIGSTOP; returns when every process of the server is paused.
    void pause();
    void resume();

private:
    void launch();
    void execute(const std::string& database, const std::string& sql) const;

    PrivateServerOptions options_;
    TemporaryFolder folder_;
    std::uint16_t port_ = 0;
    std::optional<ChildProcess> server_;
};

// The same for MariaDB: the user "app" with the password "secret" may do everything. Character set
// and collation are the server's built-in defaults.
class PrivateMariadb {
public:
    explicit PrivateMariadb(PrivateServerOptions options = {});
    // Gets its data from the cluster that its settings name.
    enum class Joins : std::uint8_t { a_cluster };
    PrivateMariadb(Joins joins, PrivateServerOptions options);
    PrivateMariadb(const PrivateMariadb&) = delete;
    PrivateMariadb& operator=(const PrivateMariadb&) = delete;

    std::uint16_t port() const { return port_; }
    std::string url(std::string_view database = "locks") const { return url(database, port_); }
    std::string url(std::string_view database, std::uint16_t port) const;
    pid_t pid() const { return server_->pid(); }
    const std::filesystem::path& folder() const { return folder_.path(); }

    void create_database(const std::string& name);

    void kill();
    void start();
    void pause();
    void resume();

protected:
    enum class Product : std::uint8_t { mariadb, mysql };
    PrivateMariadb(Product product, PrivateServerOptions options);

private:
    void make_data() const;
    void launch();
    [[nodiscard]] Command command() const;
    void execute(const std::string& sql) const;

    const Product product_;
    PrivateServerOptions options_;
    TemporaryFolder folder_;
    std::uint16_t port_ = 0;
    std::optional<ChildProcess> server_;
};

// The same for the MySQL that `tests/mysql fetch` has downloaded. It runs as the user of the tests.
class PrivateMysql : public PrivateMariadb {
public:
    explicit PrivateMysql(PrivateServerOptions options = {});
    // Whether it was downloaded.
    [[nodiscard]] static bool is_there();
};

// One server for the whole process, started at the first call without_flushes(), ended at exit.
PrivatePostgres& shared_postgres();
PrivateMariadb& shared_mariadb();
PrivateMysql& shared_mysql();

}  // namespace leasehold::testing
