#include "stores/mariadb/connection.hpp"

#include <dlfcn.h>
#include <errmsg.h>
#include <mysql.h>
#include <mysqld_error.h>
#include <poll.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <system_error>
#include <utility>

namespace leasehold::mariadb {
namespace {

using Effect = StoreFault::Effect;
using Cause = StoreFault::Cause;

// A firewall may drop an idle connection silently, so an idle connection is tested before use.
constexpr std::chrono::seconds idle_before_ping{5};

// MySQL's own. The connector's headers are MariaDB's.
constexpr unsigned mysql_row_is_locked = 3572;      // ER_LOCK_NOWAIT
constexpr unsigned mysql_not_certified = 3101;      // ER_TRANSACTION_ROLLBACK_DURING_COMMIT
constexpr unsigned mysql_session_killed = 3169;     // ER_SESSION_WAS_KILLED
constexpr unsigned mysql_idle_for_too_long = 4031;  // ER_CLIENT_INTERACTION_TIMEOUT
constexpr unsigned mysql_password_expired = 1862;   // ER_MUST_CHANGE_PASSWORD_LOGIN
constexpr unsigned mysql_account_locked = 3118;     // ER_ACCOUNT_HAS_BEEN_LOCKED

// Galera's "not ready for application use". The connector's headers do not name it.
constexpr unsigned wsrep_not_ready = ER_UNKNOWN_COM_ERROR;
constexpr unsigned row_changed_since_read = ER_CHECKREAD;

bool is_from_connector(unsigned number) {
    return number >= CR_MIN_ERROR && number <= 2999;
}

bool ends_connection(unsigned number) {
    switch (number) {
        case ER_CONNECTION_KILLED:
        case ER_SERVER_SHUTDOWN:
        case ER_NORMAL_SHUTDOWN:
        case ER_ABORTING_CONNECTION:
        case ER_NET_READ_ERROR:
        case ER_NET_READ_INTERRUPTED:
        case ER_NET_ERROR_ON_WRITE:
        case ER_NET_WRITE_INTERRUPTED:
        case ER_NET_PACKETS_OUT_OF_ORDER:
        case mysql_session_killed:
        case mysql_idle_for_too_long: return true;
        default: return is_from_connector(number);
    }
}

bool is_conflict_number(unsigned number) {
    switch (number) {
        case ER_DUP_ENTRY:
        case ER_LOCK_DEADLOCK:
        case ER_LOCK_WAIT_TIMEOUT:
        case ER_AUTOINC_READ_FAILED:
        case row_changed_since_read:
        case mysql_row_is_locked:
        case mysql_not_certified: return true;
        default: return false;
    }
}

Cause cause_of(unsigned number) {
    switch (number) {
        case ER_DBACCESS_DENIED_ERROR:
        case ER_ACCESS_DENIED_ERROR:
        case ER_ACCESS_DENIED_NO_PASSWORD_ERROR:
        case ER_BAD_DB_ERROR:
        case ER_NO_DB_ERROR:
        case ER_TABLEACCESS_DENIED_ERROR:
        case ER_COLUMNACCESS_DENIED_ERROR:
        case ER_SPECIFIC_ACCESS_DENIED_ERROR:
        case ER_NO_SUCH_TABLE:
        case ER_BAD_FIELD_ERROR:
        case ER_OPTION_PREVENTS_STATEMENT:
        case ER_HOST_NOT_PRIVILEGED:
        case ER_BINLOG_STMT_MODE_AND_ROW_ENGINE:
        case ER_BINLOG_CREATE_ROUTINE_NEED_SUPER:
        case ER_PROCACCESS_DENIED_ERROR:
        case mysql_password_expired:
        case mysql_account_locked:
        case CR_UNKNOWN_HOST:
        case CR_AUTH_PLUGIN_CANNOT_LOAD:
        case CR_SSL_CONNECTION_ERROR: return Cause::configuration;
        case ER_PARSE_ERROR:
        case CR_COMMANDS_OUT_OF_SYNC: return Cause::internal;
        default: return Cause::unavailable;
    }
}

SqlError error_from(const Dialect& dialect, unsigned number, const char* said) {
    if (number == ER_BINLOG_CREATE_ROUTINE_NEED_SUPER) {
        said =
            "this user may not make functions and triggers while the binary log is on; set "
            "log_bin_trust_function_creators = 1, or do it as a user with the right SUPER";
    }
    return {Effect::none, number, std::string{dialect.name} + ": " + said};
}

SqlError error_of(const Dialect& dialect, ::st_mysql* connection) {
    return error_from(dialect, mysql_errno(connection), mysql_error(connection));
}

std::int64_t integer_from(std::string_view digits) {
    std::int64_t value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return value;
}

// The effect of a script that ends in a commit, if its statement number `failed` (from 0) failed.
Effect effect_of(unsigned number, std::size_t failed, std::size_t statements) {
    if (ends_connection(number)) return Effect::unknown;  // lab: lost-answer
    // The server stops at the first error, so the commit was not reached.
    if (failed + 1 < statements) return Effect::none;
    return is_conflict_number(number) || number == wsrep_not_ready ? Effect::none : Effect::unknown;
}

// Reads the results of all statements, and counts the answered statements.
void read_results(const Dialect& dialect, ::st_mysql* connection, std::vector<ResultSet>& results,
                  std::size_t& answered) {
    for (;;) {
        if (::st_mysql_res* result = mysql_store_result(connection)) {
            results.emplace_back(result);
        } else if (mysql_field_count(connection) != 0) {
            throw error_of(dialect, connection);
        }
        ++answered;
        const int more = mysql_next_result(connection);
        if (more < 0) return;
        if (more > 0) throw error_of(dialect, connection);
    }
}

// The folder with the connector's plugins, beside the connector as Debian has it. A program may
// bring the connector along, whose own path to its plugins is then that of another machine. Empty:
// the connector finds them by itself.
const std::string& plugins_beside_connector() {
    static const std::string found = [] {
        Dl_info connector{};
        const auto* function = reinterpret_cast<const void*>(&mysql_init);
        const bool is_known = ::dladdr(function, &connector) != 0 && connector.dli_fname != nullptr;
        if (!is_known || ::getenv("MARIADB_PLUGIN_DIR") != nullptr) return std::string{};
        const auto folder =
            std::filesystem::path{connector.dli_fname}.parent_path() / "libmariadb3/plugin";
        std::error_code none;
        return is_directory(folder, none) ? folder.string() : std::string{};
    }();
    return found;
}

// Whether the server has closed an idle connection: then there is something to read from it. It is
// better to notice that now than after a commit was sent, when its effect would be unknown.
bool was_closed(::st_mysql* connection) {
    pollfd socket{.fd = mysql_get_socket(connection), .events = POLLIN, .revents = 0};
    return poll(&socket, 1, 0) != 0;
}

}  // namespace

void refuse(const Dialect& dialect, const std::string& what) {
    throw StoreFault{Effect::none, Cause::configuration, std::string{dialect.name} + ": " + what};
}

void append_literal(std::string& sql, std::string_view bytes) {
    const auto is_plain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '-' && c <= ':') ||
               c == '_' || c == ' ';
    };
    if (std::ranges::all_of(bytes, is_plain)) {
        sql += '\'';
        sql += bytes;
    } else {
        static constexpr std::string_view digits = "0123456789abcdef";
        sql += "x'";
        for (const char c : bytes) {
            const auto byte = static_cast<unsigned char>(c);
            sql += digits[byte >> 4U];
            sql += digits[byte & 0xFU];
        }
    }
    sql += '\'';
}

SqlError::SqlError(Effect effect, unsigned number, const std::string& what)
    : StoreFault{effect, cause_of(number), what + " (" + std::to_string(number) + ")"},
      number_{number} {}

bool SqlError::is_conflict() const noexcept {
    return effect() == Effect::none && is_conflict_number(number_);
}

bool SqlError::ends_transaction() const noexcept {
    return number_ == ER_LOCK_DEADLOCK || number_ == row_changed_since_read;
}

bool SqlError::is_disconnection() const noexcept {
    return ends_connection(number_);
}

void ResultSet::Free::operator()(::st_mysql_res* result) const noexcept {
    mysql_free_result(result);
}

bool ResultSet::next() {
    row_ = mysql_fetch_row(result_.get());
    if (row_ == nullptr) return false;
    lengths_ = mysql_fetch_lengths(result_.get());
    return true;
}

std::int64_t ResultSet::integer(unsigned column) const {
    return integer_from(text(column));
}

std::string_view ResultSet::text(unsigned column) const {
    if (row_[column] == nullptr) return {};
    return {row_[column], lengths_[column]};
}

Script& Script::add(std::string_view statement) {
    if (statements_ > 0) text_ += ';';
    text_ += statement;
    ++statements_;
    return *this;
}

void Script::clear() {
    text_.clear();
    statements_ = 0;
}

void Statement::Close::operator()(::st_mysql_stmt* statement) const noexcept {
    mysql_stmt_close(statement);
}

Statement::Statement(const Dialect& dialect, ::st_mysql* connection, std::string_view sql,
                     Kind kind)
    : dialect_{dialect}, connection_{connection}, kind_{kind}, text_{[&] {
          // lab: prepared-sql
          return std::string{sql};
      }()} {
    if (kind_ == Kind::script) return;
    statement_.reset(mysql_stmt_init(connection));
    row_ = std::make_unique<Row>();
    if (!statement_) throw std::bad_alloc{};
    if (mysql_stmt_prepare(statement_.get(), text_.data(), text_.size()) != 0) throw error();
}

SqlError Statement::error() const {
    // An error in the middle of a result is reported by the connection, not by the statement.
    if (mysql_stmt_errno(statement_.get()) == 0) return error_of(dialect_, connection_);
    return error_from(dialect_, mysql_stmt_errno(statement_.get()),
                      mysql_stmt_error(statement_.get()));
}

bool Statement::run(std::span<const Value> values) {
    return kind_ == Kind::script ? run_script(values) : run_prepared(values);
}

bool Statement::run_script(std::span<const Value> values) {
    answer_.reset();
    std::string sql;
    sql.reserve(2 * text_.size());
    std::string_view rest{text_};
    for (std::size_t at = 0; (at = rest.find('?')) != std::string_view::npos;) {
        sql += rest.substr(0, at);
        rest.remove_prefix(at + 1);
        std::size_t number = 0;
        const char* after = std::from_chars(rest.data(), rest.data() + rest.size(), number).ptr;
        rest.remove_prefix(static_cast<std::size_t>(after - rest.data()));
        const Value& value = values[number - 1];
        if (const auto* text = std::get_if<std::string_view>(&value)) {
            append_literal(sql, *text);
        } else {
            sql += std::to_string(std::get<std::int64_t>(value));
        }
    }
    sql += rest;
    std::vector<ResultSet> results = leasehold::mariadb::run(dialect_, connection_, sql);
    if (results.empty() || !results.back().next()) return false;
    answer_ = std::move(results.back());
    return true;
}

bool Statement::run_prepared(std::span<const Value> values) {
    ::st_mysql_stmt* statement = statement_.get();
    std::vector<MYSQL_BIND> parameters(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        MYSQL_BIND& bind = parameters[i];
        if (const auto* text = std::get_if<std::string_view>(&values[i])) {
            bind.buffer_type = MYSQL_TYPE_STRING;
            bind.buffer = const_cast<char*>(text->data());
            bind.buffer_length = text->size();
        } else {
            bind.buffer_type = MYSQL_TYPE_LONGLONG;
            bind.buffer = const_cast<std::int64_t*>(std::get_if<std::int64_t>(&values[i]));
        }
    }
    if (mysql_stmt_bind_param(statement, parameters.data()) != 0 ||
        mysql_stmt_execute(statement) != 0) {
        throw error();
    }
    bool found = false;
    for (;;) {
        if (mysql_stmt_field_count(statement) > 0 && fetch()) found = true;
        const int more = mysql_stmt_next_result(statement);
        if (more < 0) return found;
        if (more > 0) throw error();
    }
}

bool Statement::fetch() {
    std::array<MYSQL_BIND, most_columns> columns{};
    for (unsigned i = 0; i < most_columns; ++i) {
        columns.at(i).buffer_type = MYSQL_TYPE_STRING;
        columns.at(i).buffer = row_->text.at(i).data();
        columns.at(i).buffer_length = most_bytes;
        columns.at(i).length = &row_->sizes.at(i);
    }
    ::st_mysql_stmt* statement = statement_.get();
    if (mysql_stmt_bind_result(statement, columns.data()) != 0) throw error();
    const int fetched = mysql_stmt_fetch(statement);
    if (fetched == 1) throw error();
    if (mysql_stmt_free_result(statement) != 0) throw error();
    return fetched == 0;
}

std::int64_t Statement::integer(unsigned column) const {
    return integer_from(text(column));
}

std::string_view Statement::text(unsigned column) const {
    if (answer_) return answer_->text(column);
    return {row_->text.at(column).data(), std::min(row_->sizes.at(column), most_bytes)};
}

std::vector<ResultSet> run(const Dialect& dialect, ::st_mysql* connection,
                           std::string_view statement) {
    std::vector<ResultSet> results;
    if (mysql_real_query(connection, statement.data(), statement.size()) != 0) {
        throw error_of(dialect, connection);
    }
    std::size_t answered = 0;
    read_results(dialect, connection, results, answered);
    return results;
}

bool in_transaction(const Dialect& dialect, ::st_mysql* connection) {
    // An error says nothing about the transaction, the next answer does.
    (void)run(dialect, connection, "do 0");
    unsigned status = 0;
    mariadb_get_infov(connection, MARIADB_CONNECTION_SERVER_STATUS, &status);
    return (status & SERVER_STATUS_IN_TRANS) != 0;
}

void Link::Close::operator()(::st_mysql* connection) const noexcept {
    mysql_close(connection);
}

Link::Link(const Dialect& dialect, Login login, Duration io_timeout)
    : dialect_{dialect},
      login_{std::move(login)},
      io_timeout_s_{static_cast<unsigned>(std::clamp<std::int64_t>(
          std::chrono::ceil<std::chrono::seconds>(io_timeout).count(), 1, 3600))} {}

bool Link::connect() {
    const auto now = SteadyClock::now();
    if (connection_ && (was_closed(connection_.get()) || (now - last_used_ > idle_before_ping &&
                                                          mysql_ping(connection_.get()) != 0))) {
        connection_.reset();
    }
    last_used_ = now;
    if (connection_) return false;
    connection_ = open();
    return true;
}

Link::Handle Link::open() const {
    // The connector's own first-time setup is not thread-safe.
    static const int initialised = mysql_library_init(0, nullptr, nullptr);
    if (initialised != 0) throw std::bad_alloc{};

    Handle handle{mysql_init(nullptr)};
    if (!handle) throw std::bad_alloc{};
    const auto set = [&](mysql_option option, const void* value) {
        mysql_optionsv(handle.get(), option, value);
    };
    set(MYSQL_OPT_CONNECT_TIMEOUT, &io_timeout_s_);
    set(MYSQL_OPT_READ_TIMEOUT, &io_timeout_s_);
    if (const std::string& plugins = plugins_beside_connector(); !plugins.empty()) {
        set(MYSQL_PLUGIN_DIR, plugins.c_str());
    }
    set(MYSQL_OPT_WRITE_TIMEOUT, &io_timeout_s_);
    set(MYSQL_SET_CHARSET_NAME, "binary");
    // The server must not be able to ask for the files of this machine.
    constexpr unsigned no_local_files = 0;
    set(MYSQL_OPT_LOCAL_INFILE, &no_local_files);
    demand_tls(handle.get());
    const bool by_socket = !login_.socket.empty();
    if (mysql_real_connect(handle.get(), by_socket ? "localhost" : login_.host.c_str(),
                           login_.user.c_str(), login_.password.c_str(),
                           login_.database.empty() ? nullptr : login_.database.c_str(), login_.port,
                           by_socket ? login_.socket.c_str() : nullptr,
                           CLIENT_MULTI_STATEMENTS) == nullptr) {
        throw error_of(dialect_, handle.get());
    }
    if (login_.tls == Login::Tls::verify_full && mysql_get_ssl_cipher(handle.get()) == nullptr) {
        refuse(dialect_, "the connection is not encrypted, although tls=verify-full demands it");
    }
    const auto product =
        mariadb_connection(handle.get()) != 0 ? Dialect::Product::mariadb : Dialect::Product::mysql;
    if (product != dialect_.product ||
        mysql_get_server_version(handle.get()) < dialect_.oldest_version) {
        std::string said = std::string{"the server is "} + mysql_get_server_info(handle.get()) +
                           "; " + std::string{dialect_.oldest} + " or later is needed";
        if (product != dialect_.product) said.append("; ").append(dialect_.other);
        refuse(dialect_, said);
    }

    Script settings;
    settings
        .add(dialect_.session)
        // A statement whose client has given up must not wait for a table for ever.
        .add("set lock_wait_timeout = " + std::to_string(io_timeout_s_));
    (void)mariadb::run(dialect_, handle.get(), settings.text());
    return handle;
}

void Link::demand_tls(::st_mysql* connection) const {
    if (login_.tls == Login::Tls::off) return;
    constexpr my_bool yes = 1;
    mysql_optionsv(connection, MYSQL_OPT_SSL_ENFORCE, &yes);
    mysql_optionsv(connection, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &yes);
    mysql_optionsv(connection, MARIADB_OPT_TLS_VERSION, "TLSv1.2,TLSv1.3");
    if (!login_.ca_file.empty()) {
        mysql_optionsv(connection, MYSQL_OPT_SSL_CA, login_.ca_file.c_str());
    }
}

std::vector<ResultSet> Link::run(const Script& script) {
    return run(script.text(), script.statements(), Last::commits_nothing);
}

std::vector<ResultSet> Link::run(std::string_view statement) {
    return run(statement, 1, Last::commits_nothing);
}

std::vector<ResultSet> Link::commit(const Script& script) {
    return run(script.text(), script.statements(), Last::commits);
}

bool Link::run(Statement& statement, std::span<const Value> values) {
    return run(statement, values, Last::commits_nothing);
}

bool Link::commit(Statement& statement, std::span<const Value> values) {
    return run(statement, values, Last::commits);
}

std::vector<ResultSet> Link::run(std::string_view text, std::size_t statements, Last last) {
    require_connection();
    std::vector<ResultSet> results;
    std::size_t answered = 0;
    try {
        // lab: sql
        if (mysql_real_query(connection_.get(), text.data(), text.size()) != 0) {
            throw error_of(dialect_, connection_.get());
        }
        read_results(dialect_, connection_.get(), results, answered);
        return results;
    } catch (const SqlError& error) {
        throw judged(error, last, answered, statements);
    }
}

bool Link::run(Statement& statement, std::span<const Value> values, Last last) {
    require_connection();
    try {
        return statement.run(values);
    } catch (const SqlError& error) {
        throw judged(error, last, 0, 1);
    }
}

void Link::require_connection() const {
    if (connection_) return;
    throw StoreFault{Effect::none, Cause::unavailable,
                     std::string{dialect_.name} + ": the connection was lost"};
}

SqlError Link::judged(const SqlError& error, Last last, std::size_t answered,
                      std::size_t statements) {
    if (error.is_disconnection()) disconnect();
    Effect effect =
        last == Last::commits ? effect_of(error.number(), answered, statements) : Effect::none;
    // A compound statement whose transaction is still open has not reached its commit.
    if (effect == Effect::unknown && in_transaction()) effect = Effect::none;
    return {effect, error};
}

bool Link::in_transaction() noexcept {
    if (!connected()) return false;
    try {
        return mariadb::in_transaction(dialect_, connection_.get());
    } catch (...) {
        disconnect();
        return false;
    }
}

}  // namespace leasehold::mariadb
