#include "conformance/mariadb_harness.hpp"
#include "conformance/later_fields.hpp"

#include <mysql.h>

#include <stdexcept>

#include "stores/mariadb/schema.hpp"
#include "support/private_server.hpp"

namespace leasehold::conformance {

MariadbConnection::MariadbConnection() : connection_{mysql_init(nullptr)} {
    const mariadb::Login server = mariadb_of_the_tests();
    mysql_options(connection_, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    if (mysql_real_connect(connection_, server.host.c_str(), server.user.c_str(),
                           server.password.c_str(), nullptr, server.port, nullptr, 0) == nullptr) {
        const std::string message = mysql_error(connection_);
        mysql_close(connection_);
        throw std::runtime_error{message};
    }
    run("create database if not exists " + server.database);
    run("use " + server.database);
}

MariadbConnection::~MariadbConnection() {
    mysql_close(connection_);
}

MariadbConnection::Rows MariadbConnection::run(const std::string& sql) {
    if (mysql_real_query(connection_, sql.data(), sql.size()) != 0) fail(sql);
    Rows rows;
    MYSQL_RES* result = mysql_store_result(connection_);
    if (result == nullptr) {
        if (mysql_field_count(connection_) != 0) fail(sql);
        return rows;
    }
    while (MYSQL_ROW row = mysql_fetch_row(result)) {
        const unsigned long* sizes = mysql_fetch_lengths(result);
        std::vector<std::string>& fields = rows.emplace_back();
        for (unsigned i = 0; i < mysql_num_fields(result); ++i) {
            fields.emplace_back(row[i] == nullptr ? "" : row[i], sizes[i]);
        }
    }
    mysql_free_result(result);
    return rows;
}

std::string MariadbConnection::quoted(const std::string& text) {
    std::string escaped(2 * text.size() + 1, '\0');
    escaped.resize(mysql_real_escape_string(connection_, escaped.data(), text.data(), text.size()));
    return "'" + escaped + "'";
}

void MariadbConnection::fail(const std::string& what) const {
    throw std::runtime_error{what + ": " + mysql_error(connection_)};
}

mariadb::Login mariadb_of_the_tests() {
    return {.host = "127.0.0.1",
            .port = leasehold::testing::shared_mariadb().port(),
            .user = "app",
            .password = "secret",
            .database = "conformance"};
}

namespace {

class MariadbTransaction final : public CallerTransaction {
public:
    Result<Lease> guard(const LockKey& key, LockId lock_id) override {
        return mariadb::guard(connection_.get(), key, lock_id);
    }
    Result<Lease> release(const LockKey& key, LockId lock_id) override {
        return mariadb::release(connection_.get(), key, lock_id);
    }
    void write(const std::string& record, const std::string& text) override {
        connection_.run("insert into app_records values (" + connection_.quoted(record) + ", " +
                        connection_.quoted(text) + ") on duplicate key update text = value(text)");
    }
    std::string read(const std::string& record) override {
        const auto rows = connection_.run("select text from app_records where record = " +
                                          connection_.quoted(record));
        return rows.empty() ? "" : rows.front().front();
    }
    void begin() override { connection_.run("start transaction"); }
    void commit() override { connection_.run("commit"); }
    void rollback() override { connection_.run("rollback"); }

private:
    MariadbConnection connection_;
};

class MariadbHarness final : public SqlHarness {
public:
    MariadbHarness() {
        const std::string database = mariadb_of_the_tests().database;
        own_.run("drop database " + database);
        own_.run("create database " + database);
        own_.run("use " + database);
        own_.run("create table app_records (record varchar(100) primary key, text text not null)");
    }

    std::unique_ptr<Store> open(StoreOptions options) override {
        return mariadb::open(mariadb_of_the_tests(), options);
    }

    std::unique_ptr<Store> open_later_version() override {
        SchemaSteps steps = mariadb::schema_steps();
        steps.push_back(schema_step(later_fields, steps.size() + 1, mariadb::column_types));
        return mariadb::open_with(steps, mariadb_of_the_tests(), {});
    }

    void become_version_1() override {
        for (const std::string table : {"locks", "lock_shares", "lock_history"}) {
            own_.run("alter table " + table + " drop column token_id");
        }
        own_.run("update leasehold set value = 1 where name = 'schema'");
    }

    void overwrite(const std::string& field, int number) override {
        for (const std::string table : {"locks", "lock_history"}) {
            own_.run("update " + table + " set " + field + " = " + std::to_string(number));
        }
    }

    void let_pass(Duration duration) override {
        const auto older = [&](const std::string& table, const std::string& column) {
            own_.run("update " + table + " set " + column + " = " + column + " - " +
                     std::to_string(duration.count()) + " where " + column + " < " +
                     std::to_string(never.time_since_epoch().count()));
        };
        own_.run("start transaction");
        for (const char* column : {"expiration_time", "granted_at", "touched_at", "ended_at"}) {
            older("locks", column);
        }
        for (const char* column : {"expiration_time", "granted_at"}) older("lock_shares", column);
        for (const char* column : {"expiration_time", "granted_at", "ended_at"}) {
            older("lock_history", column);
        }
        own_.run("commit");
    }

    std::string dump() override {
        std::string text;
        for (const auto& table : own_.run("show tables")) {
            text += table.front() + '\n';
            for (const auto& row : own_.run("select * from " + table.front() + " order by 1, 2")) {
                for (const std::string& field : row) text += field + '|';
                text += '\n';
            }
        }
        return text;
    }

    [[nodiscard]] std::size_t crowd() const override { return 64; }
    [[nodiscard]] OtherKeys other_keys_beside_a_transaction() const override {
        return OtherKeys::granted;
    }
    std::unique_ptr<CallerTransaction> connect() override {
        return std::make_unique<MariadbTransaction>();
    }

private:
    MariadbConnection own_;
};

}  // namespace

std::unique_ptr<SqlHarness> make_mariadb_harness() {
    return std::make_unique<MariadbHarness>();
}

}  // namespace leasehold::conformance
