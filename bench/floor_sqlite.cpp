// The floor under the SQLite store: WAL, synchronous=FULL, and for each operation one prepared
// statement that commits by itself.
#include <leasehold/lock_id.hpp>

#include <sqlite3.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "contender.hpp"
#include "cycle.hpp"

namespace leasehold::bench {
namespace {

using Database = std::unique_ptr<sqlite3, decltype(&sqlite3_close_v2)>;
using Statement = std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)>;

[[noreturn]] void fail_with_sqlite(sqlite3* db) {
    throw std::runtime_error{std::string{"sqlite floor: "} + sqlite3_errmsg(db)};
}

Database open_database(const std::string& path) {
    sqlite3* raw = nullptr;
    const int code =
        sqlite3_open_v2(path.c_str(), &raw,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
    Database db{raw, sqlite3_close_v2};
    if (code != SQLITE_OK) fail_with_sqlite(raw);
    constexpr const char* setup = R"(
pragma journal_mode = wal;
pragma synchronous = full;
create table floor_locks (
    type text not null, id text not null, lockid text not null, expires real not null,
    primary key (type, id)
) without rowid)";
    if (sqlite3_exec(raw, setup, nullptr, nullptr, nullptr) != SQLITE_OK) fail_with_sqlite(raw);
    return db;
}

// Milliseconds are enough to compare, and the cheapest SQLite's own clock has to offer.
constexpr const char* upsert = R"(
insert into floor_locks values (?1, ?2, ?3, julianday('now') + 300.0 / 86400)
on conflict (type, id) do update set lockid = excluded.lockid, expires = excluded.expires
where expires < julianday('now'))";
constexpr const char* select = R"(
select expires from floor_locks
where type = ?1 and id = ?2 and lockid = ?3 and expires > julianday('now'))";
constexpr const char* update = R"(
update floor_locks set expires = expires + 60.0 / 86400
where type = ?1 and id = ?2 and lockid = ?3 and expires > julianday('now'))";
constexpr const char* erase = "delete from floor_locks where type = ?1 and id = ?2 and lockid = ?3";

class SqliteFloor final : public Contender {
public:
    explicit SqliteFloor(const std::string& path) : db_{open_database(path)} {}

    void run_cycles(std::size_t thread, const std::atomic<bool>& stop,
                    std::atomic<std::uint64_t>& cycles) override {
        count_cycles(thread, stop, cycles, [this](const std::string& id) {
            const std::string lock_id = LockId::random().to_string();
            expect(changes(upsert_, id, lock_id), "try");
            expect(finds(select_, id, lock_id), "check");
            expect(changes(update_, id, lock_id), "extend");
            expect(changes(erase_, id, lock_id), "release");
        });
    }

private:
    Statement prepare(const char* sql) {
        sqlite3_stmt* raw = nullptr;
        if (sqlite3_prepare_v3(db_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &raw, nullptr) !=
            SQLITE_OK) {
            fail_with_sqlite(db_.get());
        }
        return {raw, sqlite3_finalize};
    }

    bool finds(const Statement& statement, std::string_view id, std::string_view lock_id) {
        const auto bind = [&](int index, std::string_view text) {
            sqlite3_bind_text(statement.get(), index, text.data(), static_cast<int>(text.size()),
                              SQLITE_STATIC);
        };
        bind(1, cycle_type);
        bind(2, id);
        bind(3, lock_id);
        const int code = sqlite3_step(statement.get());
        sqlite3_reset(statement.get());
        if (code != SQLITE_ROW && code != SQLITE_DONE) fail_with_sqlite(db_.get());
        return code == SQLITE_ROW;
    }

    bool changes(const Statement& statement, std::string_view id, std::string_view lock_id) {
        finds(statement, id, lock_id);
        return sqlite3_changes(db_.get()) == 1;
    }

    Database db_;
    Statement upsert_ = prepare(upsert);
    Statement select_ = prepare(select);
    Statement update_ = prepare(update);
    Statement erase_ = prepare(erase);
};

}  // namespace

std::unique_ptr<Contender> make_floor_sqlite(const std::string& path) {
    return std::make_unique<SqliteFloor>(path);
}

}  // namespace leasehold::bench
