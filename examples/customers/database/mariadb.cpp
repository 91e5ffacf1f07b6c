#include <mysql.h>

#include <leasehold/stores/mysql.hpp>
#include <leasehold/web/http.hpp>

#include <regex>

#include "database/connection.hpp"

namespace customers::database {
namespace {

// mysql://user:password@host:port/database, or the same with mariadb:
struct Url {
    bool is_mysql = false;
    std::string user{}, password{}, host{}, database{};
    unsigned port = 3306;
};

// An error does not repeat the URL: it may hold a password.
Url read_url(const std::string& text) {
    static const std::regex form{
        "(mysql|mariadb)://(?:([^:@/]*)(?::([^@/]*))?@)?([^:/@]+)(?::([0-9]{1,5}))?/([^?]*).*"};
    std::smatch parts;
    if (!std::regex_match(text, parts, form)) {
        throw DatabaseError{"the URL must be mysql://user:password@host:port/database"};
    }
    const auto decoded = [&](int part) {
        return leasehold::web::decode_url(parts[part].str()).value_or(parts[part].str());
    };
    Url url{.is_mysql = parts[1] == "mysql",
            .user = decoded(2),
            .password = decoded(3),
            .host = decoded(4),
            .database = decoded(6)};
    if (parts[5].matched) url.port = static_cast<unsigned>(std::stoul(parts[5]));
    return url;
}

// Of MySQL or MariaDB.
class MariadbConnection final : public Connection {
public:
    explicit MariadbConnection(const Url& url)
        : is_mysql_{url.is_mysql}, connection_{mysql_init(nullptr), mysql_close} {
        mysql_options(connection_.get(), MYSQL_SET_CHARSET_NAME, "utf8mb4");
        if (mysql_real_connect(connection_.get(), url.host.c_str(), url.user.c_str(),
                               url.password.c_str(), url.database.c_str(), url.port, nullptr,
                               CLIENT_FOUND_ROWS) == nullptr) {
            fail("cannot connect", mysql_error(connection_.get()));
        }
        run("set session sql_mode = 'STRICT_ALL_TABLES'");
    }

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
        return is_mysql_ ? leasehold::mysql::guard(connection_.get(), key, lock_id)
                         : leasehold::mariadb::guard(connection_.get(), key, lock_id);
    }
    leasehold::Result<leasehold::Lease> release(const leasehold::LockKey& key,
                                                leasehold::LockId lock_id) override {
        return is_mysql_ ? leasehold::mysql::release(connection_.get(), key, lock_id)
                         : leasehold::mariadb::release(connection_.get(), key, lock_id);
    }

    [[nodiscard]] std::string table_options() const override {
        return " engine = InnoDB character set utf8mb4 collate utf8mb4_bin";
    }

private:
    Answer execute(std::string_view sql, const Parameters& parameters) override {
        // MySQL cannot prepare every statement; those have no parameters and no rows.
        if (parameters.empty() && !sql.starts_with("select")) {
            if (mysql_real_query(connection_.get(), sql.data(), sql.size()) != 0) {
                fail(sql, mysql_error(connection_.get()));
            }
            return {.changed = mysql_affected_rows(connection_.get())};
        }
        const std::unique_ptr<::st_mysql_stmt, decltype(&mysql_stmt_close)> statement{
            mysql_stmt_init(connection_.get()), mysql_stmt_close};
        std::vector<MYSQL_BIND> binds{parameters.size()};
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            binds[i].buffer_type = MYSQL_TYPE_STRING;
            binds[i].buffer = const_cast<char*>(parameters[i].data());
            binds[i].buffer_length = parameters[i].size();
        }
        ::st_mysql_stmt* raw = statement.get();
        if (mysql_stmt_prepare(raw, sql.data(), sql.size()) != 0 ||
            mysql_stmt_bind_param(raw, binds.data()) != 0 || mysql_stmt_execute(raw) != 0 ||
            mysql_stmt_store_result(raw) != 0) {
            fail(sql, mysql_stmt_error(raw));
        }
        Answer answer{.changed = mysql_stmt_affected_rows(raw)};
        while (mysql_stmt_field_count(raw) > 0) {
            const int fetched = mysql_stmt_fetch(raw);
            if (fetched == 1) fail(sql, mysql_stmt_error(raw));
            if (fetched == MYSQL_NO_DATA) break;
            Row& row = answer.rows.emplace_back();
            for (unsigned i = 0; i < mysql_stmt_field_count(raw); ++i) row.push_back(field(raw, i));
        }
        return answer;
    }

    // A field is asked for its length first, then for its text.
    static std::string field(::st_mysql_stmt* statement, unsigned index) {
        unsigned long length = 0;
        MYSQL_BIND bind{};
        bind.buffer_type = MYSQL_TYPE_STRING;
        bind.length = &length;
        mysql_stmt_fetch_column(statement, &bind, index, 0);
        std::string text(length, '\0');
        bind.buffer = text.data();
        bind.buffer_length = length;
        if (length > 0) mysql_stmt_fetch_column(statement, &bind, index, 0);
        return text;
    }

    [[noreturn]] static void fail(std::string_view doing, const char* why) {
        throw DatabaseError{"mariadb: " + std::string{doing} + ": " + why};
    }

    const bool is_mysql_;
    const std::unique_ptr<::st_mysql, void (*)(::st_mysql*)> connection_;
};

}  // namespace

std::unique_ptr<Connection> connect_mariadb(const std::string& url) {
    return std::make_unique<MariadbConnection>(read_url(url));
}

}  // namespace customers::database
