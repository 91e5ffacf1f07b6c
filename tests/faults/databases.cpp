#include "faults/databases.hpp"

#include <libpq-fe.h>
#include <mysql.h>
#include <sqlite3.h>

#include <stdexcept>
#include <thread>

#include <leasehold/stores/mysql.hpp>
#include <leasehold/stores/postgres.hpp>
#include <leasehold/stores/sqlite.hpp>

namespace leasehold::faults {
namespace {

std::string next_name() {
    static int made = 0;
    return "faults_" + std::to_string(++made);
}

class PostgresSession final : public Session {
public:
    explicit PostgresSession(const std::string& url)
        : connection_{PQconnectdb(url.c_str()), PQfinish} {
        if (PQstatus(connection_.get()) != CONNECTION_OK) fail("connect");
        PQsetNoticeProcessor(connection_.get(), [](void*, const char*) {}, nullptr);
    }

    Rows run(const std::string& sql) override {
        const std::unique_ptr<PGresult, decltype(&PQclear)> result{
            PQexec(connection_.get(), sql.c_str()), PQclear};
        const ExecStatusType status = PQresultStatus(result.get());
        if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) fail(sql);
        Rows rows;
        for (int row = 0; row < PQntuples(result.get()); ++row) {
            auto& fields = rows.emplace_back();
            for (int field = 0; field < PQnfields(result.get()); ++field) {
                fields.emplace_back(PQgetvalue(result.get(), row, field));
            }
        }
        return rows;
    }

    Result<Lease> guard(const LockKey& key, LockId lock_id) override {
        return postgres::guard(connection_.get(), key, lock_id);
    }

    Result<Lease> release(const LockKey& key, LockId lock_id) override {
        return postgres::release(connection_.get(), key, lock_id);
    }

private:
    [[noreturn]] void fail(const std::string& what) const {
        throw std::runtime_error{what + ": " + PQerrorMessage(connection_.get())};
    }

    std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
};

// Of MariaDB or MySQL, which differ in the functions of their headers.
class MariadbSession : public Session {
public:
    MariadbSession(std::uint16_t port, const std::string& database)
        : connection_{mysql_init(nullptr), mysql_close} {
        if (mysql_real_connect(connection_.get(), "127.0.0.1", "app", "secret", database.c_str(),
                               port, nullptr, 0) == nullptr) {
            fail("connect");
        }
    }

    Rows run(const std::string& sql) override {
        if (mysql_real_query(connection_.get(), sql.data(), sql.size()) != 0) fail(sql);
        Rows rows;
        const std::unique_ptr<MYSQL_RES, decltype(&mysql_free_result)> result{
            mysql_store_result(connection_.get()), mysql_free_result};
        if (!result) return rows;
        while (MYSQL_ROW row = mysql_fetch_row(result.get())) {
            auto& fields = rows.emplace_back();
            for (unsigned i = 0; i < mysql_num_fields(result.get()); ++i) {
                fields.emplace_back(row[i] == nullptr ? "" : row[i]);
            }
        }
        return rows;
    }

    Result<Lease> guard(const LockKey& key, LockId lock_id) override {
        return mariadb::guard(connection_.get(), key, lock_id);
    }

    Result<Lease> release(const LockKey& key, LockId lock_id) override {
        return mariadb::release(connection_.get(), key, lock_id);
    }

protected:
    [[nodiscard]] MYSQL* get() const { return connection_.get(); }

private:
    [[noreturn]] void fail(const std::string& what) const {
        throw std::runtime_error{what + ": " + mysql_error(connection_.get())};
    }

    std::unique_ptr<MYSQL, decltype(&mysql_close)> connection_;
};

class MysqlSession final : public MariadbSession {
public:
    using MariadbSession::MariadbSession;
    Result<Lease> guard(const LockKey& key, LockId lock_id) override {
        return mysql::guard(get(), key, lock_id);
    }
    Result<Lease> release(const LockKey& key, LockId lock_id) override {
        return mysql::release(get(), key, lock_id);
    }
};

class SqliteSession final : public Session {
public:
    explicit SqliteSession(const std::string& path) {
        sqlite3* raw = nullptr;
        const int code = sqlite3_open(path.c_str(), &raw);
        db_.reset(raw);
        if (code != SQLITE_OK) fail("open");
        sqlite3_busy_timeout(raw, 20'000);
    }

    Rows run(const std::string& sql) override {
        Rows rows;
        const auto take = [](void* into, int count, char** values, char**) {
            auto& fields = static_cast<Rows*>(into)->emplace_back();
            for (int i = 0; i < count; ++i) fields.emplace_back(values[i] ? values[i] : "");
            return 0;
        };
        if (sqlite3_exec(db_.get(), sql.c_str(), take, &rows, nullptr) != SQLITE_OK) fail(sql);
        return rows;
    }

    Result<Lease> guard(const LockKey& key, LockId lock_id) override {
        return sqlite::guard(db_.get(), key, lock_id);
    }

    Result<Lease> release(const LockKey& key, LockId lock_id) override {
        return sqlite::release(db_.get(), key, lock_id);
    }

private:
    [[noreturn]] void fail(const std::string& what) const {
        throw std::runtime_error{what + ": " + sqlite3_errmsg(db_.get())};
    }

    std::unique_ptr<sqlite3, decltype(&sqlite3_close)> db_{nullptr, sqlite3_close};
};

class SqliteFolder final : public Database {
public:
    std::string make() override { return next_name(); }
    std::string url(const std::string& name) const override { return "sqlite:" + path(name); }
    std::unique_ptr<Session> connect(const std::string& name) override {
        return std::make_unique<SqliteSession>(path(name));
    }

private:
    std::string path(const std::string& name) const {
        return (folder_.path() / (name + ".db")).string();
    }

    testing::TemporaryFolder folder_;
};

template <class Private>
class PrivateServer : public Server {
public:
    explicit PrivateServer(testing::PrivateServerOptions options) : server_{std::move(options)} {}

    std::string make() override {
        const std::string name = next_name();
        server_.create_database(name);
        return name;
    }
    std::string url(const std::string& name) const override { return server_.url(name); }
    std::string url(const std::string& name, std::uint16_t port) const override {
        return server_.url(name, port);
    }
    std::uint16_t port() const override { return server_.port(); }
    void kill() override { server_.kill(); }
    void start() override { server_.start(); }
    void pause() override { server_.pause(); }
    void resume() override { server_.resume(); }

private:
    Private server_;
};

class PostgresServer final : public PrivateServer<testing::PrivatePostgres> {
public:
    using PrivateServer::PrivateServer;
    std::unique_ptr<Session> connect(const std::string& name) override {
        return connect_to_postgres(url(name));
    }
};

class MariadbServer final : public PrivateServer<testing::PrivateMariadb> {
public:
    using PrivateServer::PrivateServer;
    std::unique_ptr<Session> connect(const std::string& name) override {
        return std::make_unique<MariadbSession>(port(), name);
    }
};

class MysqlServer final : public PrivateServer<testing::PrivateMysql> {
public:
    using PrivateServer::PrivateServer;
    std::unique_ptr<Session> connect(const std::string& name) override {
        return std::make_unique<MysqlSession>(port(), name);
    }
};

Server& shared_postgres() {
    static const auto server = start_postgres(testing::without_flushes());
    return *server;
}

Server& shared_mariadb() {
    static const auto server = start_mariadb(testing::without_flushes());
    return *server;
}

Server& shared_mysql() {
    static const auto server = start_mysql(testing::without_flushes());
    return *server;
}

Database& shared_folder() {
    static const auto folder = make_sqlite_folder();
    return *folder;
}

}  // namespace

void Session::begin_and_lock(const LockKey& key) {
    run("begin");
    run("select * from locks where type = '" + std::string{key.type()} + "' and id = '" +
        std::string{key.id()} + "' for update");
}

std::unique_ptr<Session> connect_to_postgres(const std::string& url) {
    return std::make_unique<PostgresSession>(url);
}

std::unique_ptr<Database> make_sqlite_folder() {
    return std::make_unique<SqliteFolder>();
}

std::unique_ptr<Server> start_postgres(testing::PrivateServerOptions options) {
    return std::make_unique<PostgresServer>(std::move(options));
}

std::unique_ptr<Server> start_mariadb(testing::PrivateServerOptions options) {
    return std::make_unique<MariadbServer>(std::move(options));
}

std::unique_ptr<Server> start_mysql(testing::PrivateServerOptions options) {
    return std::make_unique<MysqlServer>(std::move(options));
}

const On<Server>& on_postgres() {
    static const On<Server> on{"postgres", shared_postgres, start_postgres};
    return on;
}

const On<Server>& on_mariadb() {
    static const On<Server> on{"mariadb", shared_mariadb, start_mariadb};
    return on;
}

const On<Server>& on_mysql() {
    static const On<Server> on{"mysql", shared_mysql, start_mysql};
    return on;
}

std::vector<On<Server>> every_server() {
    return {on_postgres(), on_mysql(), on_mariadb()};
}

std::vector<On<Database>> every_database() {
    std::vector<On<Database>> all{
        {"sqlite", shared_folder, [](const auto&) { return make_sqlite_folder(); }}};
    for (const On<Server>& server : every_server()) {
        all.push_back({server.store, server.database, server.make});
    }
    return all;
}

bool eventually(const std::function<bool()>& condition, std::chrono::milliseconds patience) {
    const auto deadline = SteadyClock::now() + patience;
    while (!condition()) {
        if (SteadyClock::now() > deadline) return false;
        std::this_thread::sleep_for(2ms);
    }
    return true;
}

::testing::AssertionResult is_gone(const Result<Lease>& answer, Gone reason) {
    if (answer) return ::testing::AssertionFailure() << "the lease is alive";
    const Refusal& refusal = answer.error();
    if (refusal.kind == Refusal::Kind::gone && refusal.reason == reason) {
        return ::testing::AssertionSuccess();
    }
    return ::testing::AssertionFailure()
           << "refused as " << to_string(refusal.kind) << " (" << to_string(refusal.reason)
           << "), expected " << to_string(reason);
}

}  // namespace leasehold::faults
