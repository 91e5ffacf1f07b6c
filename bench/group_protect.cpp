// What the protection of a table costs a write to a row that nobody has leased, beside the same
// write to a table that is not protected.
#include <leasehold/lock_manager.hpp>
#include <leasehold/open_store.hpp>

#include <cstdint>
#include <functional>
#include <string>

#include "cycle.hpp"
#include "groups.hpp"
#include "servers.hpp"
#include "support/process.hpp"
#if defined(LEASEHOLD_WITH_SQLITE)
#include <sqlite3.h>

#include <stdexcept>
#endif
#if defined(LEASEHOLD_WITH_POSTGRES)
#include "postgres_client.hpp"
#endif
#if defined(LEASEHOLD_WITH_MARIADB)
#include "mariadb_client.hpp"
#endif

namespace leasehold::bench {
namespace {

constexpr int rows = 1000;

// A text that no row has: MariaDB does not count a row that stays as it is, SQLite does not write
// it.
std::string new_text() {
    static std::uint64_t count = 0;
    return "text " + std::to_string(++count);
}

// Runs statements on one table. A cycle is one write, or a transaction of several.
class Writer final : public Contender {
public:
    explicit Writer(std::function<void(const std::string& id)> write) : write_{std::move(write)} {}

    void run_cycles(std::size_t /*thread*/, const std::atomic<bool>& stop,
                    std::atomic<std::uint64_t>& cycles) override {
        for (std::uint64_t k = 0; !stop.load(std::memory_order_relaxed); ++k) {
            write_(std::to_string(k % rows));
            cycles.store(k + 1, std::memory_order_relaxed);
        }
    }

private:
    std::function<void(const std::string& id)> write_;
};

using WriterOf = std::function<std::function<void(const std::string&)>(const std::string& table)>;

// Compares writes to the table `orders`, which is protected, with writes to `plain`, which is not.
void compare_writes(const std::string& store, const std::string& what, std::optional<Goal> goal,
                    const WriterOf& writer_of, const Settings& settings, Report& report) {
    Writer guarded{writer_of("orders")};
    Writer plain{writer_of("plain")};
    report.add(compare({.group = "protect",
                        .name = store + ", " + what + ", protected against not",
                        .leasehold = {"a protected table, rows that nobody has leased", guarded},
                        .peer = {"the same table without protection", plain},
                        .ratio = Ratio::cost,
                        .goal = goal},
                       settings));
}

constexpr Goal little{Goal::Direction::at_most, 1.15};

// `execute` runs a statement.
void make_tables(const std::function<void(const std::string&)>& execute) {
    for (const std::string table : {"orders", "plain"}) {
        execute("create table " + table +
                " (id integer not null primary key, text varchar(100) not null)");
        std::string insert = "insert into " + table + " values ";
        for (int id = 0; id < rows; ++id) {
            insert += (id == 0 ? "(" : ", (") + std::to_string(id) + ", 'as it was')";
        }
        execute(insert);
    }
}

// Some leases in the way, and the protection.
void protect(const std::string& url, LockManager& locks) {
    for (int id = 0; id < rows; ++id) {
        expect(locks.try_lock({"Other", std::to_string(id)}, {}).has_value(), "try");
    }
    (void)open_protection(url)->protect({.name = "orders", .key = "Order/{id}"});
}

#if defined(LEASEHOLD_WITH_POSTGRES)
void protect_postgres(const Settings& settings, Report& report) {
    testing::PrivatePostgres server{postgres_options()};
    const std::string url = server.url();
    LockManager locks{open_store(url)};
    PostgresClient client{url};
    make_tables([&](const std::string& sql) { client.execute(sql); });
    protect(url, locks);
    client.execute("vacuum analyze");
    const WriterOf one = [&](const std::string& table) {
        client.prepare(("one_" + table).c_str(),
                       ("update " + table + " set text = $2 where id = $1").c_str());
        return [&client, name = "one_" + table](const std::string& id) {
            expect(client.run(name.c_str(), {id.c_str(), "new"}) == 1, "update");
        };
    };
    compare_writes("postgres", "a write", little, one, settings, report);
    const WriterOf many = [&](const std::string& table) {
        return [&client, table](const std::string& id) {
            client.execute("update " + table + " set text = '" + id + "'");
        };
    };
    compare_writes("postgres", "1,000 rows in a statement", {}, many, settings, report);
    client.execute("set default_transaction_isolation = 'repeatable read'");
    const WriterOf again = [&](const std::string& table) {
        return [&client, name = "one_" + table](const std::string& id) {
            expect(client.run(name.c_str(), {id.c_str(), "new"}) == 1, "update");
        };
    };
    compare_writes("postgres", "a write under REPEATABLE READ", {}, again, settings, report);
}
#endif

#if defined(LEASEHOLD_WITH_MARIADB)
void protect_on(testing::PrivateMariadb& server, const std::string& store, const Settings& settings,
                Report& report) {
    server.create_database("protect");
    const std::string url = server.url("protect");
    LockManager locks{open_store(url)};
    MariadbClient client{server.port(), "protect"};
    make_tables([&](const std::string& sql) { client.execute(sql); });
    protect(url, locks);
    const WriterOf one = [&](const std::string& table) {
        auto statement = std::make_shared<MariadbStatement>(
            client.prepare("update " + table + " set text = concat(?, '') where id = ?"));
        return [statement](const std::string& id) {
            expect(statement->run({new_text(), id}) == 1, "update");
        };
    };
    compare_writes(store, "a write", little, one, settings, report);
    const WriterOf many = [&](const std::string& table) {
        return [&client, table](const std::string& /*id*/) {
            client.execute("update " + table + " set text = '" + new_text() + "'");
        };
    };
    compare_writes(store, "1,000 rows in a statement", {}, many, settings, report);
    const WriterOf in_transaction = [&](const std::string& table) {
        return [&client, write = one(table)](const std::string& id) {
            client.execute("start transaction");
            write(id);
            client.execute("commit");
        };
    };
    compare_writes(store, "a write in a transaction that repeats its reads", {}, in_transaction,
                   settings, report);
    client.execute("set session transaction isolation level read committed");
    compare_writes(store, "a write in a transaction at READ COMMITTED", little, in_transaction,
                   settings, report);
}
#endif

#if defined(LEASEHOLD_WITH_SQLITE)
void protect_sqlite(const Settings& settings, Report& report) {
    const testing::TemporaryFolder folder{"leasehold-compare"};
    const std::string path = (folder.path() / "protect.db").string();
    LockManager locks{open_store("sqlite:" + path)};
    sqlite3* raw = nullptr;
    expect(sqlite3_open(path.c_str(), &raw) == SQLITE_OK, "open");
    const std::unique_ptr<sqlite3, int (*)(sqlite3*)> db{raw, sqlite3_close_v2};
    const auto execute = [&](const std::string& sql) {
        if (sqlite3_exec(raw, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
            throw std::runtime_error{sqlite3_errmsg(raw)};
        }
    };
    make_tables(execute);
    protect("sqlite:" + path, locks);
    execute("pragma synchronous = full");
    const WriterOf one = [&](const std::string& table) {
        sqlite3_stmt* statement = nullptr;
        expect(sqlite3_prepare_v2(raw, ("update " + table + " set text = ?2 where id = ?1").c_str(),
                                  -1, &statement, nullptr) == SQLITE_OK,
               "prepare");
        const std::shared_ptr<sqlite3_stmt> update{statement, sqlite3_finalize};
        return [update](const std::string& id) {
            const std::string text = new_text();
            sqlite3_bind_text(update.get(), 1, id.c_str(), -1, SQLITE_STATIC);
            sqlite3_bind_text(update.get(), 2, text.c_str(), -1, SQLITE_STATIC);
            expect(sqlite3_step(update.get()) == SQLITE_DONE, "update");
            sqlite3_reset(update.get());
        };
    };
    compare_writes("sqlite", "a write", little, one, settings, report);
    const WriterOf many = [&](const std::string& table) {
        return [&execute, table](const std::string& /*id*/) {
            execute("update " + table + " set text = '" + new_text() + "'");
        };
    };
    compare_writes("sqlite", "1,000 rows in a statement", {}, many, settings, report);
}
#endif

}  // namespace

void run_protect(const Settings& settings, Report& report) {
#if defined(LEASEHOLD_WITH_POSTGRES)
    protect_postgres(settings, report);
#endif
#if defined(LEASEHOLD_WITH_MARIADB)
    if (testing::PrivateMysql::is_there()) {
        testing::PrivateMysql server{mysql_options()};
        protect_on(server, "mysql", settings, report);
    }
    {
        testing::PrivateMariadb server{mariadb_options()};
        protect_on(server, "mariadb", settings, report);
    }
#endif
#if defined(LEASEHOLD_WITH_SQLITE)
    protect_sqlite(settings, report);
#endif
}

}  // namespace leasehold::bench
