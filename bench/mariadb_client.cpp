#include "mariadb_client.hpp"

#include <mysql.h>

#include <array>
#include <new>

namespace leasehold::bench {
namespace {

constexpr unsigned deadlock_code = 1213;
constexpr std::size_t most_parameters = 8;

[[noreturn]] void fail(MYSQL_STMT* statement) {
    if (mysql_stmt_errno(statement) == deadlock_code) {
        throw Deadlock{mysql_stmt_error(statement)};
    }
    throw std::runtime_error{mysql_stmt_error(statement)};
}

}  // namespace

void MariadbClient::Close::operator()(st_mysql* connection) const noexcept {
    mysql_close(connection);
}

void MariadbStatement::Close::operator()(st_mysql_stmt* statement) const noexcept {
    mysql_stmt_close(statement);
}

MariadbClient::MariadbClient(std::uint16_t port, const std::string& database)
    : connection_{mysql_init(nullptr)} {
    if (!connection_) throw std::bad_alloc{};
    if (mysql_real_connect(connection_.get(), "127.0.0.1", "app", "secret", database.c_str(), port,
                           nullptr, 0) == nullptr) {
        throw std::runtime_error{mysql_error(connection_.get())};
    }
}

void MariadbClient::execute(const std::string& sql) {
    if (mysql_real_query(connection_.get(), sql.data(), sql.size()) != 0) {
        throw std::runtime_error{sql + ": " + mysql_error(connection_.get())};
    }
    mysql_free_result(mysql_store_result(connection_.get()));
}

MariadbStatement MariadbClient::prepare(std::string_view sql) {
    MYSQL_STMT* raw = mysql_stmt_init(connection_.get());
    if (raw == nullptr) throw std::bad_alloc{};
    MariadbStatement statement{raw};
    if (mysql_stmt_prepare(raw, sql.data(), sql.size()) != 0) fail(raw);
    return statement;
}

void MariadbStatement::execute(std::initializer_list<std::string_view> parameters) {
    std::array<MYSQL_BIND, most_parameters> binds{};
    std::size_t n = 0;
    for (const std::string_view text : parameters) {
        MYSQL_BIND& bind = binds.at(n++);
        bind.buffer_type = MYSQL_TYPE_STRING;
        bind.buffer = const_cast<char*>(text.data());
        bind.buffer_length = text.size();
    }
    if (n > 0 && mysql_stmt_bind_param(statement_.get(), binds.data()) != 0) fail(statement_.get());
    if (mysql_stmt_execute(statement_.get()) != 0) fail(statement_.get());
}

std::size_t MariadbStatement::run(std::initializer_list<std::string_view> parameters) {
    execute(parameters);
    if (mysql_stmt_field_count(statement_.get()) == 0) {
        return mysql_stmt_affected_rows(statement_.get());
    }
    if (mysql_stmt_store_result(statement_.get()) != 0) fail(statement_.get());
    const auto rows = mysql_stmt_num_rows(statement_.get());
    mysql_stmt_free_result(statement_.get());
    return rows;
}

std::optional<std::string> MariadbStatement::find(
    std::initializer_list<std::string_view> parameters) {
    execute(parameters);
    std::array<char, 64> text{};
    unsigned long length = 0;
    MYSQL_BIND column{};
    column.buffer_type = MYSQL_TYPE_STRING;
    column.buffer = text.data();
    column.buffer_length = text.size();
    column.length = &length;
    if (mysql_stmt_bind_result(statement_.get(), &column) != 0) fail(statement_.get());
    if (mysql_stmt_store_result(statement_.get()) != 0) fail(statement_.get());
    std::optional<std::string> found;
    if (mysql_stmt_fetch(statement_.get()) == 0) found.emplace(text.data(), length);
    mysql_stmt_free_result(statement_.get());
    return found;
}

}  // namespace leasehold::bench
