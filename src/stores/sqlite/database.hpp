#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <leasehold/errors.hpp>

#include "stores/sqlite/gathered_log.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace leasehold::sqlite {

// A statement, prepared when it is first used.
class Statement {
public:
    Statement(::sqlite3* db, std::string_view sql) : db_{db}, sql_{sql} {}

    Statement& bind(int index, std::int64_t value);
    // The text must live until the statement is reset.
    Statement& bind(int index, std::string_view text);
    Statement& bind_copy(int index, std::string_view text);

    // Whether there is a row. Throws StoreFault on an error.
    bool step();
    // Runs it to its end and resets it.
    void run();
    void reset() noexcept;

    [[nodiscard]] std::int64_t integer(int column) const;
    [[nodiscard]] std::string text(int column) const;

    // SQLite's result code, for callers that expect "busy".
    [[nodiscard]] int step_code();

private:
    struct Finalize {
        void operator()(::sqlite3_stmt* statement) const noexcept;
    };
    ::sqlite3_stmt* prepared();

    ::sqlite3* db_;
    std::string sql_;
    std::unique_ptr<::sqlite3_stmt, Finalize> statement_;
};

// Resets a statement when the scope ends, whatever happened.
class Resetting {
public:
    explicit Resetting(Statement& statement) : statement_{statement} {}
    Resetting(const Resetting&) = delete;
    Resetting& operator=(const Resetting&) = delete;
    ~Resetting() { statement_.reset(); }

private:
    Statement& statement_;
};

struct Close {
    std::unique_ptr<GatheredLog> log;
    void operator()(::sqlite3* db) const noexcept;
};
using Database = std::unique_ptr<::sqlite3, Close>;

[[nodiscard]] Database open_database(const std::string& path);
void execute(::sqlite3* db, const char* sql);
[[noreturn]] void fail(::sqlite3* db, StoreFault::Effect effect, std::string_view doing);

}  // namespace leasehold::sqlite
