#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <leasehold/errors.hpp>
#include <leasehold/time.hpp>

struct pg_conn;
struct pg_result;

namespace leasehold::postgres {

// libpq's number for PostgreSQL's binary format.
inline constexpr int binary_format = 1;

// A time as the settings of PostgreSQL have it: "10ms".
[[nodiscard]] inline std::string setting_of(Duration time) {
    return std::to_string(std::chrono::ceil<std::chrono::milliseconds>(time).count()) + "ms";
}

// Values for a statement's parameters, in PostgreSQL's binary format.
class Parameters {
public:
    Parameters& text(std::string_view value);
    Parameters& integer(std::int64_t value);
    Parameters& time(Time value);

    // One array parameter, for unnest(), of the values that `value_of` gives for the rows.
    template <class Rows, class ValueOf = std::identity>
    Parameters& texts(const Rows& rows, ValueOf value_of = {}) {
        begin_texts(rows.size());
        for (const auto& row : rows) append_text(std::invoke(value_of, row));
        return *this;
    }
    template <class Rows, class ValueOf = std::identity>
    Parameters& integers(const Rows& rows, ValueOf value_of = {}) {
        begin_integers(rows.size());
        for (const auto& row : rows) append_integer(std::invoke(value_of, row));
        return *this;
    }
    template <class Rows, class ValueOf = std::identity>
    Parameters& times(const Rows& rows, ValueOf value_of = {}) {
        begin_times(rows.size());
        for (const auto& row : rows) append_time(std::invoke(value_of, row));
        return *this;
    }

    // The parameters in the form that libpq takes. They must not outlive this object.
    struct Bound {
        std::vector<const char*> values{};
        std::vector<int> lengths{};
        std::vector<int> formats{};

        [[nodiscard]] int count() const { return static_cast<int>(values.size()); }
    };
    [[nodiscard]] Bound bound() const;

private:
    void begin_texts(std::size_t size);
    void append_text(std::string_view value);
    void begin_integers(std::size_t size);
    void append_integer(std::int64_t value);
    void begin_times(std::size_t size);
    void append_time(Time value);

    std::vector<std::string> values_;
};

// The rows of one answer. Columns are read in PostgreSQL's binary format.
class Rows {
public:
    explicit Rows(::pg_result* result) : result_{result} {}

    [[nodiscard]] int size() const;
    [[nodiscard]] std::string_view text(int row, int column) const;
    [[nodiscard]] std::int64_t integer(int row, int column) const;  // int2, int4, int8, bool
    [[nodiscard]] Time time(int row, int column) const;
    [[nodiscard]] std::int64_t affected() const;

private:
    struct Clear {
        void operator()(::pg_result* result) const noexcept;
    };
    std::unique_ptr<::pg_result, Clear> result_;
};

// A statement in a pipeline. `sql` has static storage; it is prepared once for each connection.
struct Command {
    std::string_view sql;
    Parameters parameters{};
};

// The server answered with an error. `state` is its SQLSTATE.
struct ServerError {
    std::string state;
    std::string message;
};

struct FinishConnection {
    void operator()(::pg_conn* connection) const noexcept;
};
using ConnectionHandle = std::unique_ptr<::pg_conn, FinishConnection>;

// Connects to a server that takes writes. Throws StoreFault.
[[nodiscard]] ConnectionHandle connect_to(const std::string& conninfo, Duration io_timeout);

// Begins to connect to it. The caller calls PQconnectPoll() until it is connected, and does not
// wait longer than the timeout.
[[nodiscard]] ConnectionHandle begin_to_connect(const std::string& conninfo, Duration io_timeout);

// Whether a lost answer leaves open if the commands were carried out.
enum class Commits : std::uint8_t { no, yes };

// One connection to PostgreSQL in pipeline mode. It connects when it is first used, and again after
// the connection was lost. Not thread-safe.
class Connection {
public:
    // `greet` is called with every new connection before anything else is sent.
    Connection(std::string conninfo, Duration io_timeout, std::function<void(::pg_conn*)> greet);
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    // Sends all commands at once and waits for all answers. Throws ServerError for the first error
    // if the connection stays usable; the commands after the error were not carried out. Throws
    // StoreFault if the connection is lost, with effect unknown if the commands commit and the
    // server may have received them.
    std::vector<Rows> run(std::span<const Command> commands, Commits commits);
    // Runs a command that commits nothing.
    Rows run_one(const Command& command);

    // Closes the connection; the server rolls back an open transaction.
    void close() noexcept;

    void connect();

    // Connects again if the server has ended the connection while it was idle. Must not be called
    // inside a transaction.
    void revive();

private:
    // Returns whether the statement had to be prepared too. `open` is the effect of a failure.
    bool send(const Command& command, StoreFault::Effect open);
    // False if no input came in time, or the connection is lost.
    [[nodiscard]] bool wait_for_input(SteadyClock::time_point deadline);
    [[noreturn]] void lose(StoreFault::Effect effect, const std::string& why);

    const std::string conninfo_;
    const Duration io_timeout_;
    const std::function<void(::pg_conn*)> greet_;
    ConnectionHandle connection_;
    std::unordered_map<const char*, std::string> names_;  // of prepared statements, by their text
    std::uint64_t statements_named_ = 0;
    bool warned_ = false;  // the server sent a warning since the last run began
};

[[noreturn]] void fail(const ServerError& error);

// Whether tables of another version can be the reason: a column or a table is missing, or a
// prepared statement would return other columns now.
[[nodiscard]] bool may_come_from_another_schema(const ServerError& error);

}  // namespace leasehold::postgres
