#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <leasehold/errors.hpp>
#include <leasehold/limits.hpp>
#include <leasehold/stores/mariadb.hpp>
#include <leasehold/time.hpp>

#include "stores/mariadb/dialect.hpp"

struct st_mysql;
struct st_mysql_res;
struct st_mysql_stmt;

namespace leasehold::mariadb {

// Throws a fault: Leasehold cannot use the database as it is set up.
[[noreturn]] void refuse(const Dialect& dialect, const std::string& what);

// A value as SQL text. What is not plain ASCII is written as hexadecimal digits, which need no
// escaping and are the same bytes in every session, whatever its character set and sql_mode.
void append_literal(std::string& sql, std::string_view bytes);

// A fault with the number that the server or the connector gave it.
class SqlError : public StoreFault {
public:
    SqlError(Effect effect, unsigned number, const std::string& what);
    // The same error with its effect on the work that was under way.
    SqlError(Effect effect, const SqlError& error)
        : StoreFault{effect, error.cause(), error.what()}, number_{error.number_} {}

    [[nodiscard]] unsigned number() const noexcept { return number_; }
    // Another transaction made this one fail, and this one changed nothing.
    [[nodiscard]] bool is_conflict() const noexcept;
    // The server has rolled back the whole transaction, not only the statement.
    [[nodiscard]] bool ends_transaction() const noexcept;
    // The connection cannot be used any more.
    [[nodiscard]] bool is_disconnection() const noexcept;

private:
    unsigned number_;
};

// The rows that a statement returned, all in memory.
class ResultSet {
public:
    explicit ResultSet(::st_mysql_res* result) : result_{result} {}

    // Goes to the next row; false after the last.
    bool next();

    [[nodiscard]] bool is_null(unsigned column) const { return row_[column] == nullptr; }
    // Null is 0.
    [[nodiscard]] std::int64_t integer(unsigned column) const;
    // Null is empty. Valid until next().
    [[nodiscard]] std::string_view text(unsigned column) const;

private:
    struct Free {
        void operator()(::st_mysql_res* result) const noexcept;
    };
    std::unique_ptr<::st_mysql_res, Free> result_;
    char** row_ = nullptr;
    unsigned long* lengths_ = nullptr;
};

// Statements that are sent together, in one round trip.
class Script {
public:
    // `statement` has no semicolon at its end.
    Script& add(std::string_view statement);

    [[nodiscard]] const std::string& text() const { return text_; }
    [[nodiscard]] std::size_t statements() const { return statements_; }
    [[nodiscard]] bool empty() const { return statements_ == 0; }
    void clear();

private:
    std::string text_;
    std::size_t statements_ = 0;
};

// The value of a prepared statement's parameter.
using Value = std::variant<std::int64_t, std::string_view>;

// One round trip that returns one row or none.
class Statement {
public:
    enum class Kind : std::uint8_t {
        prepared,  // one statement, with a `?` for each value
        script,    // several statements, in which `?N` is value number N, from 1
    };

    static constexpr unsigned most_columns = 16;
    static constexpr std::size_t most_bytes = Limits::note_bytes;  // of a column

    // Throws SqlError with effect none. Must not be used after the connection is closed.
    Statement(const Dialect& dialect, ::st_mysql* connection, std::string_view sql,
              Kind kind = Kind::prepared);

    // Returns whether there is a row. Its columns are valid until the next run. Throws SqlError
    // with effect none.
    [[nodiscard]] bool run(std::span<const Value> values);

    [[nodiscard]] std::int64_t integer(unsigned column) const;
    [[nodiscard]] std::string_view text(unsigned column) const;

private:
    struct Close {
        void operator()(::st_mysql_stmt* statement) const noexcept;
    };
    struct Row {
        std::array<std::array<char, most_bytes>, most_columns> text;
        std::array<unsigned long, most_columns> sizes;
    };

    [[nodiscard]] bool run_prepared(std::span<const Value> values);
    [[nodiscard]] bool run_script(std::span<const Value> values);
    [[nodiscard]] bool fetch();
    [[nodiscard]] SqlError error() const;

    const Dialect& dialect_;
    ::st_mysql* connection_;
    const Kind kind_;
    // Of a prepared statement.
    std::unique_ptr<::st_mysql_stmt, Close> statement_;
    std::unique_ptr<Row> row_;
    // Of a script.
    const std::string text_;
    std::optional<ResultSet> answer_;
};

// Runs one statement on a caller's connection. Throws SqlError with effect none.
[[nodiscard]] std::vector<ResultSet> run(const Dialect& dialect, ::st_mysql* connection,
                                         std::string_view statement);
// Whether a transaction is open there, as the server sees it. Asks the server.
[[nodiscard]] bool in_transaction(const Dialect& dialect, ::st_mysql* connection);

// The store's one connection to the server. A connection that fails is closed at once, which ends
// its transaction. Only connect() opens it again, so that no statement ever runs outside the
// transaction it belongs to. Not thread-safe.
class Link {
public:
    Link(const Dialect& dialect, Login login, Duration io_timeout);

    [[nodiscard]] bool connected() const { return connection_ != nullptr; }
    // Must be called outside a transaction. True if it was not connected before. Throws StoreFault
    // with effect none if the server cannot be reached or is not supported.
    bool connect();
    void disconnect() noexcept { connection_.reset(); }

    // Runs statements that commit nothing: a failure has the effect none.
    std::vector<ResultSet> run(const Script& script);
    std::vector<ResultSet> run(std::string_view statement);
    // Runs statements that change something. The last one is the commit, or commits by itself.
    std::vector<ResultSet> commit(const Script& script);

    // The same for a statement that was prepared on this connection. Returns whether there is a
    // row.
    [[nodiscard]] bool run(Statement& statement, std::span<const Value> values);
    [[nodiscard]] bool commit(Statement& statement, std::span<const Value> values);

    [[nodiscard]] ::st_mysql* get() const { return connection_.get(); }
    [[nodiscard]] const Dialect& dialect() const { return dialect_; }

private:
    enum class Last { commits, commits_nothing };
    struct Close {
        void operator()(::st_mysql* connection) const noexcept;
    };
    using Handle = std::unique_ptr<::st_mysql, Close>;

    [[nodiscard]] Handle open() const;
    void demand_tls(::st_mysql* connection) const;
    std::vector<ResultSet> run(std::string_view text, std::size_t statements, Last last);
    bool run(Statement& statement, std::span<const Value> values, Last last);
    void require_connection() const;
    // False also if the server does not answer.
    [[nodiscard]] bool in_transaction() noexcept;
    // The error with its effect on the work that was under way.
    [[nodiscard]] SqlError judged(const SqlError& error, Last last, std::size_t answered,
                                  std::size_t statements);

    const Dialect& dialect_;
    const Login login_;
    const unsigned io_timeout_s_;
    Handle connection_;
    SteadyClock::time_point last_used_{};
};

}  // namespace leasehold::mariadb
