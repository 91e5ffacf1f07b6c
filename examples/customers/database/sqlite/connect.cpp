#include "database/sqlite/connect.hpp"

#include <sqlite3.h>

#include <leasehold/stores/sqlite.hpp>

namespace customers::database::sqlite {
namespace {

// How long a transaction waits for the one before it: SQLite has one writer at a time.
constexpr int patience_ms = 10'000;

struct Close {
    void operator()(::sqlite3* db) const { sqlite3_close_v2(db); }
};
struct Finalize {
    void operator()(::sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

class SqliteConnection final : public Connection {
public:
    explicit SqliteConnection(const std::string& path) {
        ::sqlite3* raw = nullptr;
        const int opened = sqlite3_open(path.c_str(), &raw);
        db_.reset(raw);
        if (opened != SQLITE_OK) fail("cannot open " + path);
        sqlite3_busy_timeout(raw, patience_ms);
        run("pragma journal_mode = wal");
        run("pragma synchronous = full");
        run("pragma foreign_keys = on");
    }

    Answer run(std::string_view sql, const Parameters& parameters) override {
        ::sqlite3_stmt* raw = nullptr;
        if (sqlite3_prepare_v2(db_.get(), sql.data(), static_cast<int>(sql.size()), &raw,
                               nullptr) != SQLITE_OK) {
            fail(sql);
        }
        const std::unique_ptr<::sqlite3_stmt, Finalize> statement{raw};
        int index = 0;
        for (const std::string& text : parameters) {
            sqlite3_bind_text(raw, ++index, text.data(), static_cast<int>(text.size()),
                              SQLITE_STATIC);
        }
        Answer answer;
        int step = SQLITE_OK;
        while ((step = sqlite3_step(raw)) == SQLITE_ROW) answer.rows.push_back(row_of(raw));
        if (step != SQLITE_DONE) fail(sql);
        answer.changed = static_cast<std::size_t>(sqlite3_changes(db_.get()));
        return answer;
    }
    using Connection::run;

    // A writer begins as one: SQLite cannot make a reader wait that becomes a writer later.
    void begin(Purpose purpose) override {
        run(purpose == Purpose::writing ? "begin immediate" : "begin");
    }

    leasehold::Result<leasehold::Lease> guard(const leasehold::LockKey& key,
                                              leasehold::LockId lock_id) override {
        return leasehold::sqlite::guard(db_.get(), key, lock_id);
    }
    leasehold::Result<leasehold::Lease> release(const leasehold::LockKey& key,
                                                leasehold::LockId lock_id) override {
        return leasehold::sqlite::release(db_.get(), key, lock_id);
    }

private:
    static Row row_of(::sqlite3_stmt* statement) {
        Row row;
        for (int i = 0; i < sqlite3_column_count(statement); ++i) {
            const void* text = sqlite3_column_blob(statement, i);
            const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement, i));
            row.emplace_back(size == 0 ? "" : static_cast<const char*>(text), size);
        }
        return row;
    }

    [[noreturn]] void fail(std::string_view doing) const {
        throw DatabaseError{"sqlite: " + std::string{doing} + ": " + sqlite3_errmsg(db_.get())};
    }

    std::unique_ptr<::sqlite3, Close> db_;
};

}  // namespace

std::unique_ptr<Connection> connect(const std::string& url) {
    return std::make_unique<SqliteConnection>(url.substr(url.find(':') + 1));
}

}  // namespace customers::database::sqlite
