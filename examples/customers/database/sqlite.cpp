#include <sqlite3.h>

#include <leasehold/stores/sqlite.hpp>

#include "database/connection.hpp"

namespace customers::database {
namespace {

// How long a transaction waits for the one before it: SQLite has one writer at a time.
constexpr int patience_ms = 10'000;

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
    Answer execute(std::string_view sql, const Parameters& parameters) override {
        ::sqlite3_stmt* raw = nullptr;
        const int size = static_cast<int>(sql.size());
        if (sqlite3_prepare_v2(db_.get(), sql.data(), size, &raw, nullptr) != SQLITE_OK) fail(sql);
        const std::unique_ptr<::sqlite3_stmt, int (*)(::sqlite3_stmt*)> ending{raw,
                                                                               sqlite3_finalize};
        int index = 0;
        for (const std::string& text : parameters) {
            const int length = static_cast<int>(text.size());
            sqlite3_bind_text(raw, ++index, text.data(), length, SQLITE_STATIC);
        }
        Answer answer;
        int step = SQLITE_OK;
        while ((step = sqlite3_step(raw)) == SQLITE_ROW) {
            Row& row = answer.rows.emplace_back();
            for (int i = 0; i < sqlite3_column_count(raw); ++i) {
                const auto* text = static_cast<const char*>(sqlite3_column_blob(raw, i));
                row.emplace_back(text == nullptr ? "" : text, sqlite3_column_bytes(raw, i));
            }
        }
        if (step != SQLITE_DONE) fail(sql);
        answer.changed = static_cast<std::size_t>(sqlite3_changes(db_.get()));
        return answer;
    }

    [[noreturn]] void fail(std::string_view doing) const {
        throw DatabaseError{"sqlite: " + std::string{doing} + ": " + sqlite3_errmsg(db_.get())};
    }

    std::unique_ptr<::sqlite3, int (*)(::sqlite3*)> db_{nullptr, sqlite3_close_v2};
};

}  // namespace

std::unique_ptr<Connection> connect_sqlite(const std::string& url) {
    return std::make_unique<SqliteConnection>(url.substr(url.find(':') + 1));
}

}  // namespace customers::database
