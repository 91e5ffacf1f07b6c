#include "conformance/mariadb_harness.hpp"
#include "conformance/later_fields.hpp"

#include <mysql.h>
#include <sys/socket.h>

#include <array>
#include <memory>
#include <stdexcept>

#include "stores/mariadb/schema.hpp"
#include "support/private_server.hpp"

namespace leasehold::conformance {

MariadbConnection::MariadbConnection(MariadbOr product)
    : product_{product}, connection_{mysql_init(nullptr)} {
    const mariadb::Login server = login_of_the_tests(product);
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

namespace {

MYSQL_TIME mysql_time_of(Time time) {
    const auto day = std::chrono::floor<std::chrono::days>(time);
    const std::chrono::year_month_day date{day};
    const std::chrono::hh_mm_ss clock{time - day};
    return {.year = static_cast<unsigned>(static_cast<int>(date.year())),
            .month = static_cast<unsigned>(date.month()),
            .day = static_cast<unsigned>(date.day()),
            .hour = static_cast<unsigned>(clock.hours().count()),
            .minute = static_cast<unsigned>(clock.minutes().count()),
            .second = static_cast<unsigned>(clock.seconds().count()),
            .second_part = static_cast<unsigned long>(clock.subseconds().count()),
            .neg = 0,
            .time_type = MYSQL_TIMESTAMP_DATETIME};
}

}  // namespace

MariadbConnection::Rows MariadbConnection::run_prepared(const std::string& sql,
                                                        const std::vector<Value>& values) {
    const std::unique_ptr<MYSQL_STMT, decltype(&mysql_stmt_close)> statement{
        mysql_stmt_init(connection_), mysql_stmt_close};
    MYSQL_STMT* raw = statement.get();
    std::vector<MYSQL_BIND> parameters(values.size());
    std::vector<MYSQL_TIME> times(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (const auto* text = std::get_if<std::string>(&values[i])) {
            parameters[i].buffer_type = MYSQL_TYPE_STRING;
            parameters[i].buffer = const_cast<char*>(text->data());
            parameters[i].buffer_length = text->size();
        } else {
            times[i] = mysql_time_of(std::get<Time>(values[i]));
            parameters[i].buffer_type = MYSQL_TYPE_TIMESTAMP;
            parameters[i].buffer = &times[i];
        }
    }
    const auto failed = [&](int code) {
        if (code != 0) throw std::runtime_error{sql + ": " + mysql_stmt_error(raw)};
    };
    failed(mysql_stmt_prepare(raw, sql.data(), sql.size()));
    failed(mysql_stmt_bind_param(raw, parameters.data()));
    failed(mysql_stmt_execute(raw));
    Rows rows;
    const unsigned count = mysql_stmt_field_count(raw);
    if (count == 0) return rows;
    std::vector<std::array<char, 600>> texts(count);
    std::vector<unsigned long> sizes(count);
    std::vector<MYSQL_BIND> columns(count);
    for (unsigned i = 0; i < count; ++i) {
        columns[i].buffer_type = MYSQL_TYPE_STRING;
        columns[i].buffer = texts[i].data();
        columns[i].buffer_length = texts[i].size();
        columns[i].length = &sizes[i];
    }
    failed(mysql_stmt_bind_result(raw, columns.data()));
    while (mysql_stmt_fetch(raw) == 0) {
        auto& row = rows.emplace_back();
        for (unsigned i = 0; i < count; ++i) row.emplace_back(texts[i].data(), sizes[i]);
    }
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

Result<Lease> MariadbConnection::guard(const LockKey& key, LockId lock_id, Duration patience) {
    const auto guard = product_ == MariadbOr::mysql ? mysql::guard : mariadb::guard;
    return guard(connection_, key, lock_id, patience);
}

void MariadbConnection::die() {
    ::shutdown(mysql_get_socket(connection_), SHUT_RDWR);
}

Result<Lease> MariadbConnection::release(const LockKey& key, LockId lock_id) {
    return product_ == MariadbOr::mysql ? mysql::release(connection_, key, lock_id)
                                        : mariadb::release(connection_, key, lock_id);
}

Result<Lease> MariadbConnection::guard(const CoarseGrained& aggregates, const LockKey& member,
                                       LockId lock_id) {
    return product_ == MariadbOr::mysql
               ? aggregates.guard(mysql::guard, connection_, member, lock_id)
               : aggregates.guard(mariadb::guard, connection_, member, lock_id);
}

Result<Lease> MariadbConnection::release(const CoarseGrained& aggregates, const LockKey& member,
                                         LockId lock_id) {
    return product_ == MariadbOr::mysql
               ? aggregates.release(mysql::release, connection_, member, lock_id)
               : aggregates.release(mariadb::release, connection_, member, lock_id);
}

mariadb::Login login_of_the_tests(MariadbOr product) {
    return {.host = "127.0.0.1",
            .port = product == MariadbOr::mysql ? leasehold::testing::shared_mysql().port()
                                                : leasehold::testing::shared_mariadb().port(),
            .user = "app",
            .password = "secret",
            .database = "conformance"};
}

std::unique_ptr<Store> open_store_of_the_tests(MariadbOr product, const mariadb::Login& login,
                                               const StoreOptions& options) {
    return product == MariadbOr::mysql ? mysql::open(login, options)
                                       : mariadb::open(login, options);
}

namespace {

class MariadbTransaction final : public CallerTransaction {
public:
    explicit MariadbTransaction(MariadbOr product) : connection_{product} {}
    MariadbTransaction(const MariadbTransaction&) = delete;
    MariadbTransaction& operator=(const MariadbTransaction&) = delete;
    // The server ends the transaction of a closed connection with a delay.
    ~MariadbTransaction() override {
        try {
            connection_.run("rollback");
        } catch (const std::runtime_error&) {
            // The connection was lost on purpose.
        }
    }
    Result<Lease> guard(const LockKey& key, LockId lock_id) override {
        return connection_.guard(key, lock_id);
    }
    Result<Lease> release(const LockKey& key, LockId lock_id) override {
        return connection_.release(key, lock_id);
    }
    Result<Lease> guard(const CoarseGrained& aggregates, const LockKey& member,
                        LockId lock_id) override {
        return connection_.guard(aggregates, member, lock_id);
    }
    Result<Lease> release(const CoarseGrained& aggregates, const LockKey& member,
                          LockId lock_id) override {
        return connection_.release(aggregates, member, lock_id);
    }
    void write(const std::string& record, const std::string& text) override {
        connection_.run("insert into app_records values (" + connection_.quoted(record) + ", " +
                        connection_.quoted(text) + ") on duplicate key update text = values(text)");
    }
    std::string read(const std::string& record) override {
        const auto rows = connection_.run("select text from app_records where record = " +
                                          connection_.quoted(record));
        return rows.empty() ? "" : rows.front().front();
    }
    void begin() override { connection_.run("start transaction"); }
    void commit() override { connection_.run("commit"); }
    void rollback() override { connection_.run("rollback"); }
    Rows run(const std::string& sql) override { return connection_.run(sql); }
    Fence guard_in_sql(const LockKey& key, const std::string& lock_id) override {
        const std::string sql =
            "select leasehold_guard(" + connection_.quoted(std::string{key.type()}) + ", " +
            connection_.quoted(std::string{key.id()}) + ", " + connection_.quoted(lock_id) + ")";
        try {
            return std::stoll(connection_.run(sql).front().front());
        } catch (const std::runtime_error& error) {
            throw std::runtime_error{std::string{error.what()}.substr(sql.size())};
        }
    }
    void wait_for_nobody() override { connection_.run("set innodb_lock_wait_timeout = 0"); }
    void repeat_reads() override {
        connection_.run("set session transaction isolation level repeatable read");
    }
    void read_committed() override {
        connection_.run("set session transaction isolation level read committed");
    }
    void die() override { connection_.die(); }

private:
    MariadbConnection connection_;
};

class MariadbHarness final : public SqlHarness {
public:
    explicit MariadbHarness(MariadbOr product)
        : product_{product}, login_{login_of_the_tests(product)}, own_{product} {
        const std::string database = login_.database;
        own_.run("drop database " + database);
        own_.run("create database " + database);
        own_.run("use " + database);
        own_.run("create table app_records (record varchar(100) primary key, text text not null)");
    }

    std::unique_ptr<Store> open(StoreOptions options) override {
        return open_store_of_the_tests(product_, login_, options);
    }

    std::unique_ptr<Store> open_later_version() override {
        const mariadb::Dialect& dialect =
            product_ == MariadbOr::mysql ? mariadb::mysql_dialect : mariadb::mariadb_dialect;
        SchemaSteps steps = mariadb::schema_steps(dialect);
        steps.push_back(schema_step(later_fields, steps.size() + 1, dialect.column_types));
        return mariadb::open_with(dialect, steps, login_, {});
    }

    void become_version_1() override {
        for (const std::string table : {"locks", "lock_shares", "lock_history"}) {
            own_.run("alter table " + table + " drop column token_id");
        }
        own_.run("alter table locks add column number bigint null after lockid");
        own_.run("update locks set number = " + micros_of_expiry());
        own_.run(
            "alter table locks drop column expiration_time, change column number expiration_time "
            "bigint not null check (expiration_time >= 1000000000000000)");
        own_.run("delete from leasehold where name = 'zone'");
        own_.run("update leasehold set value = 1 where name = 'schema'");
    }

    void overwrite(const std::string& field, int number) override {
        for (const std::string table : {"locks", "lock_history"}) {
            own_.run("update " + table + " set " + field + " = " + std::to_string(number));
        }
    }

    void let_pass(Duration duration) override {
        const std::string by = std::to_string(duration.count());
        const std::string forever = std::to_string(micros(never));
        const auto older = [&](const std::string& column) {
            return column + " = if(" + column + " < " + forever + ", " + column + " - " + by +
                   ", " + column + ")";
        };
        own_.run("start transaction");
        own_.run(
            "update locks set expiration_time = if(expiration_time < '9999-12-31', "
            "expiration_time - interval " +
            by + " microsecond, expiration_time), " + older("granted_at") + ", " +
            older("touched_at") + ", " + older("ended_at"));
        own_.run("update lock_shares set " + older("expiration_time") + ", " + older("granted_at"));
        own_.run("update lock_history set " + older("expiration_time") + ", " +
                 older("granted_at") + ", " + older("ended_at"));
        own_.run("commit");
    }

    std::string dump() override {
        std::string text;
        for (const auto& table : own_.run("show full tables where table_type <> 'VIEW'")) {
            text += table.front() + '\n';
            for (const auto& row : own_.run("select " + columns_of(table.front()) + " from " +
                                            table.front() + " order by 1, 2")) {
                for (const std::string& field : row) text += field + '|';
                text += '\n';
            }
        }
        return text;
    }

    // Including the invisible columns.
    std::string columns_of(const std::string& table) {
        std::string columns;
        for (const auto& row :
             own_.run("select column_name from information_schema.columns where table_schema = "
                      "database() and table_name = '" +
                      table + "' order by ordinal_position")) {
            columns += (columns.empty() ? "" : ", ") + row.front();
        }
        return columns;
    }

    [[nodiscard]] std::size_t crowd() const override { return 64; }
    [[nodiscard]] OtherKeys other_keys_beside_a_transaction() const override {
        return OtherKeys::granted;
    }
    std::unique_ptr<CallerTransaction> connect() override {
        return std::make_unique<MariadbTransaction>(product_);
    }
    std::unique_ptr<TableProtection> protection() override {
        return product_ == MariadbOr::mysql ? mysql::open_protection(login_)
                                            : mariadb::open_protection(login_);
    }
    [[nodiscard]] std::string quoted(const std::string& name) const override {
        std::string text;
        for (const char c : name) text.append(c == '`' ? 2 : 1, c);
        return '`' + text + '`';
    }
    std::int64_t rows_read() override {
        std::int64_t rows = 0;
        for (const auto& row : own_.run("show global status like 'Handler_read%'")) {
            rows += std::stoll(row.at(1));
        }
        return rows;
    }
    void analyze() override { own_.run("analyze table locks, lock_shares, lock_history"); }
    void drop_a_trigger(const std::string& table) override {
        const auto triggers = own_.run(
            "select trigger_name from information_schema.triggers where trigger_schema = "
            "database() "
            "and event_object_table = " +
            own_.quoted(table) + " order by 1");
        own_.run("drop trigger " + quoted(triggers.at(0).at(0)));
    }

private:
    static std::string micros_of_expiry() {
        return "if(expiration_time >= '9999-12-31', " + std::to_string(micros(never)) +
               ", timestampdiff(microsecond, '1970-01-01', expiration_time))";
    }

    const MariadbOr product_;
    const mariadb::Login login_;
    MariadbConnection own_;
};

}  // namespace

std::unique_ptr<SqlHarness> make_mariadb_harness() {
    return std::make_unique<MariadbHarness>(MariadbOr::mariadb);
}

std::unique_ptr<SqlHarness> make_mysql_harness() {
    return std::make_unique<MariadbHarness>(MariadbOr::mysql);
}

}  // namespace leasehold::conformance
