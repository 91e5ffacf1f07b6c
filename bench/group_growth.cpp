// What a cycle costs when many other leases are held.
#include <leasehold/lock_manager.hpp>
#include <leasehold/open_store.hpp>

#include <malloc.h>

#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include "groups.hpp"
#include "servers.hpp"
#include "support/process.hpp"
#if defined(LEASEHOLD_WITH_POSTGRES)
#include "postgres_client.hpp"
#endif

namespace leasehold::bench {
namespace {

constexpr std::size_t few_leases = 1000;

// Takes leases that nobody gives back.
void hold(LockManager& locks, std::size_t leases) {
    for (std::size_t held = 0; held < leases;) {
        std::vector<LockKey> keys;
        const std::size_t end = std::min(held + locks.limits().keys_at_once, leases);
        for (; held < end; ++held) keys.emplace_back("Held", std::to_string(held));
        if (!locks.try_lock_all(std::move(keys), {.ttl = std::chrono::hours{24}})) {
            throw std::runtime_error{"a key nobody holds was refused"};
        }
        if (held % (256 * 400) == 0) std::fprintf(stderr, "  %zu leases held\n", held);
    }
}

std::string with_commas(std::size_t number) {
    const std::string digits = std::to_string(number);
    std::string text;
    for (std::size_t i = 0; i < digits.size(); ++i) {
        if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
        text += digits[i];
    }
    return text;
}

Row compare_growth(const std::string& store, LockManager& few, LockManager& many,
                   const Settings& settings) {
    const auto with_few = make_leasehold(few);
    const auto with_many = make_leasehold(many);
    const std::string many_text = with_commas(settings.many_leases) + " leases held";
    const std::string few_text = with_commas(few_leases);
    return compare({.group = "growth",
                    .name = store + " with " + many_text + " against " + few_text,
                    .leasehold = {store + " store, 1 thread, " + many_text, *with_many},
                    .peer = {store + " store, 1 thread, " + few_text + " leases held", *with_few},
                    .ratio = Ratio::cost,
                    .goal = Goal{Goal::Direction::at_most, 1.3}},
                   settings);
}

double bytes_allocated() {
    const auto info = mallinfo2();
    return static_cast<double>(info.uordblks + info.hblkhd);
}

void run_memory_growth(const Settings& settings, Report& report) {
    LockManager few{open_store("memory:")};
    hold(few, few_leases);
    const double before = bytes_allocated();
    LockManager many{open_store("memory:")};
    hold(many, settings.many_leases);
    const double bytes = (bytes_allocated() - before) / static_cast<double>(settings.many_leases);
    report.add({.group = "growth",
                .name = "memory, bytes a lease with " + with_commas(settings.many_leases) + " held",
                .leasehold = "memory store, short keys",
                .peer = "",
                .leasehold_pace = {},
                .peer_pace = {},
                .unit = "bytes a lease",
                .value = {bytes, bytes, bytes},
                .goal = Goal{Goal::Direction::at_most, 400},
                .busy = {}});
    report.add(compare_growth("memory", few, many, settings));
}

#if defined(LEASEHOLD_WITH_SQLITE)
void run_sqlite_growth(const Settings& settings, Report& report) {
    const testing::TemporaryFolder folder{"leasehold-compare"};
    const auto url = [&](const char* name) {
        return "sqlite:" + (folder.path() / name).string() + "?durability=strict";
    };
    LockManager few{open_store(url("few.db"))};
    LockManager many{open_store(url("many.db"))};
    hold(few, few_leases);
    hold(many, settings.many_leases);
    report.add(compare_growth("sqlite", few, many, settings));
}
#endif

#if defined(LEASEHOLD_WITH_POSTGRES)
void run_postgres_growth(const Settings& settings, Report& report) {
    testing::PrivatePostgres server{postgres_options()};
    for (const char* database : {"few", "many"}) server.create_database(database);
    LockManager few{open_store(server.url("few") + "?durability=strict")};
    LockManager many{open_store(server.url("many") + "?durability=strict")};
    hold(few, few_leases);
    hold(many, settings.many_leases);
    // What autovacuum would do in the middle of a round.
    PostgresClient{server.url("many")}.execute("vacuum analyze");
    PostgresClient{server.url("many")}.execute("checkpoint");
    report.add(compare_growth("postgres", few, many, settings));
}
#endif

#if defined(LEASEHOLD_WITH_MARIADB)
void run_mariadb_growth(const std::string& name, testing::PrivateMariadb& server,
                        const Settings& settings, Report& report) {
    for (const char* database : {"few", "many"}) server.create_database(database);
    LockManager few{open_store(server.url("few") + "?durability=strict")};
    LockManager many{open_store(server.url("many") + "?durability=strict")};
    hold(few, few_leases);
    hold(many, settings.many_leases);
    report.add(compare_growth(name, few, many, settings));
}
#endif

}  // namespace

void run_growth(const Settings& settings, Report& report) {
    run_memory_growth(settings, report);
#if defined(LEASEHOLD_WITH_SQLITE)
    run_sqlite_growth(settings, report);
#endif
#if defined(LEASEHOLD_WITH_POSTGRES)
    run_postgres_growth(settings, report);
#endif
#if defined(LEASEHOLD_WITH_MARIADB)
    if (testing::PrivateMysql::is_there()) {
        testing::PrivateMysql server{mysql_options()};
        run_mariadb_growth("mysql", server, settings, report);
    }
    testing::PrivateMariadb server{mariadb_options()};
    run_mariadb_growth("mariadb", server, settings, report);
#endif
}

}  // namespace leasehold::bench
