#include "stores/postgres/connection.hpp"

#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <utility>

#include "stores/postgres/conninfo.hpp"
#include "stores/postgres/pooler.hpp"

namespace leasehold::postgres {
namespace {

// Type numbers from PostgreSQL's catalogue. They never change.
constexpr Oid oid_int8 = 20, oid_text = 25, oid_timestamptz = 1184;

// PostgreSQL's times count from the year 2000.
constexpr std::int64_t micros_to_2000 = 946'684'800'000'000;

template <class T>
void append_big_endian(std::string& bytes, T value) {
    const T big = std::endian::native == std::endian::big ? value : std::byteswap(value);
    bytes.append(reinterpret_cast<const char*>(&big), sizeof big);
}

std::int64_t big_endian(const char* bytes, int size) {
    // Sign-extended from the first byte.
    std::int64_t value = static_cast<signed char>(bytes[0]);
    for (int i = 1; i < size; ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
    return value;
}

std::int64_t pg_time(Time time) {
    return time == never ? INT64_MAX : time.time_since_epoch().count() - micros_to_2000;
}

std::string array_header(Oid element, std::size_t size) {
    std::string bytes;
    append_big_endian<std::int32_t>(bytes, 1);  // dimensions
    append_big_endian<std::int32_t>(bytes, 0);  // no nulls
    append_big_endian<std::uint32_t>(bytes, element);
    append_big_endian<std::int32_t>(bytes, static_cast<std::int32_t>(size));
    append_big_endian<std::int32_t>(bytes, 1);  // lower bound
    return bytes;
}

std::string trimmed(const char* message) {
    std::string text = message != nullptr ? message : "";
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
}

// libpq reports a refused connection as text, without a code.
bool is_wrong_setup(std::string_view why) {
    return std::ranges::any_of(
        std::array{"does not exist", "authentication failed", "no password supplied", "pg_hba.conf",
                   "permission denied", "invalid connection option",
                   "could not translate host name", "unsupported startup parameter"},
        [&](std::string_view words) { return why.contains(words); });
}

// Whether the server may have ended the connection after this error.
bool ends_the_connection(std::string_view state) {
    return state.starts_with("08") || state.starts_with("57P") || state == "40003" || state.empty();
}

}  // namespace

Parameters& Parameters::text(std::string_view value) {
    values_.emplace_back(value);
    return *this;
}

Parameters& Parameters::integer(std::int64_t value) {
    append_big_endian(values_.emplace_back(), value);
    return *this;
}

Parameters& Parameters::time(Time value) {
    return integer(pg_time(value));
}

Parameters::Bound Parameters::bound() const {
    Bound bound;
    for (const std::string& value : values_) {
        bound.values.push_back(value.data());
        bound.lengths.push_back(static_cast<int>(value.size()));
        bound.formats.push_back(binary_format);
    }
    return bound;
}

void Parameters::begin_texts(std::size_t size) {
    values_.push_back(array_header(oid_text, size));
}

void Parameters::append_text(std::string_view value) {
    append_big_endian(values_.back(), static_cast<std::int32_t>(value.size()));
    values_.back() += value;
}

void Parameters::begin_integers(std::size_t size) {
    values_.push_back(array_header(oid_int8, size));
}

void Parameters::append_integer(std::int64_t value) {
    append_big_endian(values_.back(), std::int32_t{sizeof value});
    append_big_endian(values_.back(), value);
}

void Parameters::begin_times(std::size_t size) {
    values_.push_back(array_header(oid_timestamptz, size));
}

void Parameters::append_time(Time value) {
    append_integer(pg_time(value));
}

void Rows::Clear::operator()(::pg_result* result) const noexcept {
    PQclear(result);
}

int Rows::size() const {
    return PQntuples(result_.get());
}

std::string_view Rows::text(int row, int column) const {
    return {PQgetvalue(result_.get(), row, column),
            static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
}

std::int64_t Rows::integer(int row, int column) const {
    return big_endian(PQgetvalue(result_.get(), row, column),
                      PQgetlength(result_.get(), row, column));
}

Time Rows::time(int row, int column) const {
    const std::int64_t value = integer(row, column);
    if (value == INT64_MAX) return never;
    if (value == INT64_MIN) return Time{};
    return Time{Duration{value + micros_to_2000}};
}

std::int64_t Rows::affected() const {
    return std::strtoll(PQcmdTuples(result_.get()), nullptr, 10);
}

void FinishConnection::operator()(::pg_conn* connection) const noexcept {
    PQfinish(connection);
}

namespace {

using Connect = PGconn* (*)(const char* const*, const char* const*, int);

ConnectionHandle connect_by(Connect connect, const std::string& conninfo, Duration io_timeout) {
    require_readable(conninfo);
    const auto seconds =
        std::max<std::int64_t>(2, std::chrono::ceil<std::chrono::seconds>(io_timeout).count());
    const std::string timeout = std::to_string(seconds);
    const std::string user_timeout =
        std::to_string(std::chrono::ceil<std::chrono::milliseconds>(io_timeout).count());
    // The parameters after dbname override the parameters of the URL.
    const std::array keywords{
        "fallback_application_name",      "connect_timeout", "tcp_user_timeout",
        "target_session_attrs",           "dbname",          "client_encoding",
        static_cast<const char*>(nullptr)};
    const std::array values{"leasehold",
                            timeout.c_str(),
                            user_timeout.c_str(),
                            "read-write",
                            conninfo.c_str(),
                            "UTF8",
                            static_cast<const char*>(nullptr)};
    return ConnectionHandle{connect(keywords.data(), values.data(), 1)};
}

}  // namespace

ConnectionHandle begin_to_connect(const std::string& conninfo, Duration io_timeout) {
    return connect_by(&PQconnectStartParams, conninfo, io_timeout);
}

ConnectionHandle connect_to(const std::string& conninfo, Duration io_timeout) {
    ConnectionHandle fresh = connect_by(&PQconnectdbParams, conninfo, io_timeout);
    if (PQstatus(fresh.get()) != CONNECTION_OK) {
        const std::string why = trimmed(PQerrorMessage(fresh.get()));
        throw StoreFault{
            StoreFault::Effect::none,
            is_wrong_setup(why) ? StoreFault::Cause::configuration : StoreFault::Cause::unavailable,
            "postgres: " + why};
    }
    return fresh;
}

Connection::Connection(std::string conninfo, Duration io_timeout,
                       std::function<void(::pg_conn*)> greet)
    : conninfo_{std::move(conninfo)}, io_timeout_{io_timeout}, greet_{std::move(greet)} {
    require_readable(conninfo_);
}

Connection::~Connection() = default;

void Connection::close() noexcept {
    connection_.reset();
    names_.clear();
}

void Connection::connect() {
    if (connection_) return;
    ConnectionHandle fresh = connect_to(conninfo_, io_timeout_);
    PQsetNoticeReceiver(
        fresh.get(),
        [](void* self, const PGresult* notice) {
            const char* severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
            if (severity != nullptr && std::string_view{severity} == "WARNING") {
                static_cast<Connection*>(self)->warned_ = true;
            }
        },
        this);
    greet_(fresh.get());
    if (PQsetnonblocking(fresh.get(), 1) != 0 || PQenterPipelineMode(fresh.get()) == 0) {
        throw StoreFault{StoreFault::Effect::none, StoreFault::Cause::unavailable,
                         "postgres: " + trimmed(PQerrorMessage(fresh.get()))};
    }
    names_.clear();
    connection_ = std::move(fresh);
}

void Connection::revive() {
    // A server that shuts down sends a message first; the end of the connection is read after it.
    while (connection_) {
        pollfd socket{PQsocket(connection_.get()), POLLIN, 0};
        if (poll(&socket, 1, 0) <= 0) break;
        if (PQconsumeInput(connection_.get()) == 0 || (socket.revents & POLLHUP) != 0 ||
            PQstatus(connection_.get()) != CONNECTION_OK) {
            close();
        }
    }
    connect();
}

void Connection::lose(StoreFault::Effect effect, const std::string& why) {
    close();
    throw StoreFault{effect, StoreFault::Cause::unavailable, "postgres: " + why};
}

bool Connection::send(const Command& command, StoreFault::Effect open) {
    const auto checked = [&](int sent) {
        if (sent == 0) lose(open, trimmed(PQerrorMessage(connection_.get())));
    };
    auto [name, is_new] = names_.try_emplace(command.sql.data());
    if (is_new) {
        name->second = "leasehold_" + std::to_string(++statements_named_);
        checked(PQsendPrepare(connection_.get(), name->second.c_str(),
                              std::string{command.sql}.c_str(), 0, nullptr));  // lab: sql
    }
    const Parameters::Bound bound = command.parameters.bound();
    checked(PQsendQueryPrepared(connection_.get(), name->second.c_str(), bound.count(),
                                bound.values.data(), bound.lengths.data(), bound.formats.data(),
                                binary_format));
    return is_new;
}

bool Connection::wait_for_input(SteadyClock::time_point deadline) {
    for (;;) {
        const int unsent = PQflush(connection_.get());
        if (unsent < 0) return false;
        if (unsent == 0 && PQisBusy(connection_.get()) == 0) return true;
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(deadline - SteadyClock::now());
        pollfd socket{PQsocket(connection_.get()),
                      static_cast<short>(POLLIN | (unsent > 0 ? POLLOUT : 0)), 0};
        const int ready = left.count() <= 0 ? 0 : poll(&socket, 1, static_cast<int>(left.count()));
        if (ready == 0) return false;
        if (ready > 0 && (socket.revents & (POLLIN | POLLERR | POLLHUP)) != 0 &&
            PQconsumeInput(connection_.get()) == 0) {
            return false;
        }
    }
}

std::vector<Rows> Connection::run(std::span<const Command> commands, Commits commits) {
    connect();
    warned_ = false;
    // lab: lost-answer
    const auto open =
        commits == Commits::yes ? StoreFault::Effect::unknown : StoreFault::Effect::none;
    std::vector<bool> wanted;  // false: the answer to a statement's preparation
    std::vector<const char*> newly_prepared;
    for (const Command& command : commands) {
        if (send(command, open)) {
            wanted.push_back(false);
            newly_prepared.push_back(command.sql.data());
        }
        wanted.push_back(true);
    }
    if (PQpipelineSync(connection_.get()) == 0) {
        lose(open, trimmed(PQerrorMessage(connection_.get())));
    }

    const auto deadline = SteadyClock::now() + io_timeout_;
    std::vector<Rows> answers;
    std::optional<ServerError> error;
    for (std::size_t at = 0;;) {
        if (!wait_for_input(deadline)) {
            const std::string why = trimmed(PQerrorMessage(connection_.get()));
            lose(open, why.empty() ? "no answer in time" : why);
        }
        PGresult* result = PQgetResult(connection_.get());
        if (result == nullptr) {
            // The end of one command's answer, or of the connection.
            if (PQstatus(connection_.get()) != CONNECTION_OK) {
                lose(open, trimmed(PQerrorMessage(connection_.get())));
            }
            continue;
        }
        Rows rows{result};
        const ExecStatusType status = PQresultStatus(result);
        if (status == PGRES_PIPELINE_SYNC) break;
        if (status == PGRES_FATAL_ERROR && !error) {
            const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
            error = {state != nullptr ? state : "", trimmed(PQresultErrorMessage(result))};
            if (ends_the_connection(error->state)) lose(open, error->message);
        }
        if (at < wanted.size() && wanted[at++] && !error) answers.push_back(std::move(rows));
    }
    if (error) {
        // The statements after the error were not prepared. They get new names next time.
        for (const char* sql : newly_prepared) names_.erase(sql);
        throw ServerError{*std::move(error)};
    }
    if (warned_ && commits == Commits::yes) {
        lose(StoreFault::Effect::unknown,
             "the server warned about the commit: it may not have reached its standby");
    }
    return answers;
}

Rows Connection::run_one(const Command& command) {
    return std::move(run({&command, 1}, Commits::no).front());
}

bool may_come_from_another_schema(const ServerError& error) {
    return error.state.starts_with("42") || error.state == "0A000";
}

void fail(const ServerError& error) {
    // A session of our own knows exactly the statements that we prepared in it.
    constexpr std::string_view statement_exists = "42P05";
    constexpr std::string_view statement_unknown = "26000";
    if (error.state == statement_exists || error.state == statement_unknown) refuse_lent_sessions();
    throw StoreFault{StoreFault::Effect::none, StoreFault::Cause::internal,
                     "postgres: " + error.state + " " + error.message};
}

}  // namespace leasehold::postgres
