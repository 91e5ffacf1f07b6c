#include "database/mariadb/connect.hpp"

#include <mysql.h>

#include <leasehold/stores/mysql.hpp>

#include "database/mariadb/url.hpp"

namespace customers::database::mariadb {
namespace {

struct Close {
    void operator()(::st_mysql* connection) const { mysql_close(connection); }
};
struct CloseStatement {
    void operator()(::st_mysql_stmt* statement) const { mysql_stmt_close(statement); }
};
struct FreeResult {
    void operator()(::st_mysql_res* result) const { mysql_free_result(result); }
};

// Of MySQL or MariaDB.
class MariadbConnection final : public Connection {
public:
    explicit MariadbConnection(const Url& url)
        : product_{url.product}, connection_{mysql_init(nullptr)} {
        mysql_options(connection_.get(), MYSQL_SET_CHARSET_NAME, "utf8mb4");
        if (mysql_real_connect(connection_.get(), url.host.c_str(), url.user.c_str(),
                               url.password.c_str(), url.database.c_str(), url.port, nullptr,
                               CLIENT_FOUND_ROWS) == nullptr) {
            fail("cannot connect", mysql_error(connection_.get()));
        }
        run("set session sql_mode = 'STRICT_ALL_TABLES'");
    }

    Answer run(std::string_view sql, const Parameters& parameters) override {
        // MySQL cannot prepare every statement that takes no parameters.
        if (parameters.empty()) return run_text(sql);
        const std::unique_ptr<::st_mysql_stmt, CloseStatement> statement{
            mysql_stmt_init(connection_.get())};
        ::st_mysql_stmt* raw = statement.get();
        std::vector<MYSQL_BIND> binds = binds_of(parameters);
        if (mysql_stmt_prepare(raw, sql.data(), sql.size()) != 0 ||
            mysql_stmt_bind_param(raw, binds.data()) != 0 || mysql_stmt_execute(raw) != 0 ||
            mysql_stmt_store_result(raw) != 0) {
            fail(sql, mysql_stmt_error(raw));
        }
        Answer answer;
        while (mysql_stmt_field_count(raw) > 0 && next(raw)) answer.rows.push_back(row_of(raw));
        answer.changed = mysql_stmt_affected_rows(raw);
        return answer;
    }
    using Connection::run;

    void begin(Purpose purpose) override {
        if (purpose == Purpose::reading) {
            run("start transaction read only");
            return;
        }
        // Sees what others committed before each statement, not before the first.
        run("set transaction isolation level read committed");
        run("start transaction");
    }

    leasehold::Result<leasehold::Lease> guard(const leasehold::LockKey& key,
                                              leasehold::LockId lock_id) override {
        return product_ == Url::Product::mysql
                   ? leasehold::mysql::guard(connection_.get(), key, lock_id)
                   : leasehold::mariadb::guard(connection_.get(), key, lock_id);
    }
    leasehold::Result<leasehold::Lease> release(const leasehold::LockKey& key,
                                                leasehold::LockId lock_id) override {
        return product_ == Url::Product::mysql
                   ? leasehold::mysql::release(connection_.get(), key, lock_id)
                   : leasehold::mariadb::release(connection_.get(), key, lock_id);
    }

    [[nodiscard]] std::string table_options() const override {
        return " engine = InnoDB character set utf8mb4 collate utf8mb4_bin";
    }

private:
    Answer run_text(std::string_view sql) {
        if (mysql_real_query(connection_.get(), sql.data(), sql.size()) != 0) {
            fail(sql, mysql_error(connection_.get()));
        }
        Answer answer;
        const std::unique_ptr<::st_mysql_res, FreeResult> result{
            mysql_store_result(connection_.get())};
        while (MYSQL_ROW fields = result ? mysql_fetch_row(result.get()) : nullptr) {
            const unsigned long* lengths = mysql_fetch_lengths(result.get());
            Row& row = answer.rows.emplace_back();
            for (unsigned i = 0; i < mysql_num_fields(result.get()); ++i) {
                row.emplace_back(fields[i] == nullptr ? "" : fields[i], lengths[i]);
            }
        }
        answer.changed = mysql_affected_rows(connection_.get());
        return answer;
    }

    static std::vector<MYSQL_BIND> binds_of(const Parameters& parameters) {
        std::vector<MYSQL_BIND> binds;
        for (const std::string& text : parameters) {
            MYSQL_BIND& bind = binds.emplace_back();
            bind.buffer_type = MYSQL_TYPE_STRING;
            bind.buffer = const_cast<char*>(text.data());
            bind.buffer_length = text.size();
        }
        return binds;
    }

    static bool next(::st_mysql_stmt* statement) {
        const int fetched = mysql_stmt_fetch(statement);
        if (fetched == 1) fail("reading", mysql_stmt_error(statement));
        return fetched != MYSQL_NO_DATA;
    }

    // A field is asked for its length first, then for its text.
    static Row row_of(::st_mysql_stmt* statement) {
        Row row;
        for (unsigned i = 0; i < mysql_stmt_field_count(statement); ++i) {
            unsigned long length = 0;
            MYSQL_BIND bind{};
            bind.buffer_type = MYSQL_TYPE_STRING;
            bind.length = &length;
            mysql_stmt_fetch_column(statement, &bind, i, 0);
            std::string& text = row.emplace_back(length, '\0');
            if (length == 0) continue;
            bind.buffer = text.data();
            bind.buffer_length = length;
            mysql_stmt_fetch_column(statement, &bind, i, 0);
        }
        return row;
    }

    [[noreturn]] static void fail(std::string_view doing, const char* why) {
        throw DatabaseError{"mariadb: " + std::string{doing} + ": " + why};
    }

    const Url::Product product_;
    std::unique_ptr<::st_mysql, Close> connection_;
};

}  // namespace

std::unique_ptr<Connection> connect(const std::string& url) {
    return std::make_unique<MariadbConnection>(read_url(url));
}

}  // namespace customers::database::mariadb
