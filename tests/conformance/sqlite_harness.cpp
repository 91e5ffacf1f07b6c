#include <sqlite3.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <leasehold/stores/sqlite.hpp>

#include "conformance/harness.hpp"
#include "conformance/later_fields.hpp"
#include "stores/sqlite/schema.hpp"
#include "support/process.hpp"

namespace leasehold::conformance {
namespace {

using SqliteRows = std::vector<std::vector<std::string>>;

class SqliteConnection {
public:
    explicit SqliteConnection(const std::string& path) {
        if (sqlite3_open(path.c_str(), &db_) != SQLITE_OK) fail("open");
        constexpr int patience_ms = 20'000;
        sqlite3_busy_timeout(db_, patience_ms);
    }
    SqliteConnection(const SqliteConnection&) = delete;
    SqliteConnection& operator=(const SqliteConnection&) = delete;
    ~SqliteConnection() { die(); }
    void die() { sqlite3_close(std::exchange(db_, nullptr)); }

    SqliteRows run(const std::string& sql, const std::vector<std::string>& parameters = {}) {
        sqlite3_stmt* statement = nullptr;
        if (sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) fail(sql);
        int index = 0;
        for (const std::string& parameter : parameters) {
            sqlite3_bind_text(statement, ++index, parameter.data(),
                              static_cast<int>(parameter.size()), SQLITE_TRANSIENT);
        }
        SqliteRows rows;
        int result = SQLITE_OK;
        while ((result = sqlite3_step(statement)) == SQLITE_ROW) {
            std::vector<std::string> row;
            for (int i = 0; i < sqlite3_column_count(statement); ++i) {
                const void* value = sqlite3_column_blob(statement, i);
                const int size = sqlite3_column_bytes(statement, i);
                row.emplace_back(value == nullptr ? "" : static_cast<const char*>(value),
                                 static_cast<std::size_t>(size));
            }
            rows.push_back(std::move(row));
        }
        sqlite3_finalize(statement);
        if (result != SQLITE_DONE) fail(sql);
        return rows;
    }

    [[nodiscard]] sqlite3* get() const { return db_; }

    void load_extension() {
        sqlite3_db_config(db_, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, nullptr);
        if (sqlite3_load_extension(db_, LEASEHOLD_SQLITE_EXTENSION, nullptr, nullptr) !=
            SQLITE_OK) {
            fail("load_extension");
        }
    }

private:
    [[noreturn]] void fail(const std::string& what) const {
        throw std::runtime_error{what + ": " + sqlite3_errmsg(db_)};
    }

    sqlite3* db_ = nullptr;
};

class SqliteTransaction final : public CallerTransaction {
public:
    explicit SqliteTransaction(const std::string& path) : connection_{path} {}

    Result<Lease> guard(const LockKey& key, LockId lock_id) override {
        return sqlite::guard(connection_.get(), key, lock_id);
    }
    Result<Lease> release(const LockKey& key, LockId lock_id) override {
        return sqlite::release(connection_.get(), key, lock_id);
    }
    Result<Lease> guard(const CoarseGrained& aggregates, const LockKey& member,
                        LockId lock_id) override {
        return aggregates.guard(sqlite::guard, connection_.get(), member, lock_id);
    }
    Result<Lease> release(const CoarseGrained& aggregates, const LockKey& member,
                          LockId lock_id) override {
        return aggregates.release(sqlite::release, connection_.get(), member, lock_id);
    }
    void write(const std::string& record, const std::string& text) override {
        connection_.run(
            "insert into app_records values (?, ?) on conflict (record) do update set text = "
            "excluded.text",
            {record, text});
    }
    std::string read(const std::string& record) override {
        const SqliteRows rows =
            connection_.run("select text from app_records where record = ?", {record});
        return rows.empty() ? "" : rows.front().front();
    }
    void begin() override { connection_.run(begin_); }
    void commit() override { connection_.run("commit"); }
    void rollback() override { connection_.run("rollback"); }
    Rows run(const std::string& sql) override { return connection_.run(sql); }
    Fence guard_in_sql(const LockKey& key, const std::string& lock_id) override {
        connection_.load_extension();
        const auto rows =
            connection_.run("select leasehold_guard(?, ?, ?)",
                            {std::string{key.type()}, std::string{key.id()}, lock_id});
        return std::stoll(rows.front().front());
    }
    void wait_for_nobody() override { sqlite3_busy_timeout(connection_.get(), 0); }
    // SQLite always does this.
    void repeat_reads() override { begin_ = "begin"; }
    void read_committed() override { begin_ = "begin immediate"; }
    void die() override { connection_.die(); }

private:
    std::string begin_ = "begin immediate";
    SqliteConnection connection_;
};

// The store and guard() use the machine's clock, so let_pass() makes the rows older.
class SqliteHarness final : public SqlHarness {
public:
    SqliteHarness() {
        own().run("create table app_records (record text primary key, text text not null)");
    }

    std::unique_ptr<Store> open(StoreOptions options) override {
        return sqlite::open(path_, options);
    }

    std::unique_ptr<Store> open_later_version() override {
        SchemaSteps steps = sqlite::schema_steps();
        steps.push_back(schema_step(later_fields, steps.size() + 1, sqlite::column_types));
        return sqlite::open_with(steps, path_, {});
    }

    void become_version_1() override {
        for (const std::string table : {"locks", "lock_shares", "lock_history"}) {
            own().run("alter table " + table + " drop column token_id");
        }
        own().run("update leasehold set value = 1 where name = 'schema'");
    }

    void overwrite(const std::string& field, int number) override {
        for (const std::string table : {"locks", "lock_history"}) {
            own().run("update " + table + " set " + field + " = " + std::to_string(number));
        }
    }

    void let_pass(Duration duration) override {
        SqliteConnection& db = own();
        const std::string by = std::to_string(duration.count());
        const std::string forever = std::to_string(never.time_since_epoch().count());
        const auto older = [&](const std::string& column) {
            return column + " = iif(" + column + " < " + forever + ", " + column + " - " + by +
                   ", " + column + ")";
        };
        db.run("begin immediate");
        db.run("update locks set " + older("expiration_time") + ", " + older("granted_at") + ", " +
               older("touched_at") + ", " + older("ended_at"));
        db.run("update lock_shares set " + older("expiration_time") + ", " + older("granted_at"));
        db.run("update lock_history set " + older("expiration_time") + ", " + older("granted_at") +
               ", " + older("ended_at"));
        db.run("commit");
    }

    std::string dump() override {
        SqliteConnection& db = own();
        std::string text;
        for (const auto& table :
             db.run("select name from sqlite_master where type = 'table' order by name")) {
            text += table.front() + '\n';
            SqliteRows rows = db.run("select * from \"" + table.front() + '"');
            std::ranges::sort(rows);
            for (const auto& row : rows) {
                for (const std::string& field : row) text += field + '|';
                text += '\n';
            }
        }
        return text;
    }

    [[nodiscard]] std::size_t crowd() const override { return 64; }
    [[nodiscard]] OtherKeys other_keys_beside_a_transaction() const override {
        return OtherKeys::granted_or_busy;
    }
    std::unique_ptr<CallerTransaction> connect() override {
        return std::make_unique<SqliteTransaction>(path_);
    }
    std::unique_ptr<TableProtection> protection() override {
        return sqlite::open_protection(path_);
    }
    [[nodiscard]] std::string quoted(const std::string& name) const override {
        std::string text;
        for (const char c : name) text.append(c == '"' ? 2 : 1, c);
        return '"' + text + '"';
    }
    void drop_a_trigger(const std::string& table) override {
        own().run("drop trigger " + quoted("leasehold_protect_update " + table));
    }

private:
    SqliteConnection& own() {
        if (!own_) own_.emplace(path_);
        return *own_;
    }

    leasehold::testing::TemporaryFolder folder_;
    std::string path_ = (folder_.path() / "locks.db").string();
    std::optional<SqliteConnection> own_;
};

}  // namespace

std::unique_ptr<SqlHarness> make_sqlite_harness() {
    return std::make_unique<SqliteHarness>();
}

}  // namespace leasehold::conformance
