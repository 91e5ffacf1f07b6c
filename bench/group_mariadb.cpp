#include <leasehold/lock_manager.hpp>
#include <leasehold/open_store.hpp>

#include "groups.hpp"
#include "servers.hpp"

namespace leasehold::bench {
namespace {

void run_on(testing::PrivateMariadb& server, const std::string& group, const Settings& settings,
            Report& report) {
    for (const char* database : {"floor", "pattern"}) server.create_database(database);
    LockManager locks{open_store(server.url() + "?durability=strict")};
    const auto leasehold = make_leasehold(locks);
    {
        const auto floor = make_floor_mariadb(server.port(), "floor");
        report.add(compare({.group = group,
                            .name = "1 thread against one statement an operation",
                            .leasehold = {group + " store, 1 thread", *leasehold},
                            .peer = {"one prepared statement an operation, 1 thread", *floor},
                            .goal = Goal{Goal::Direction::at_least, 0.85}},
                           settings));
    }
    const auto pattern = make_pattern_mariadb(server.port(), "pattern", 32);
    report.add(compare({.group = group,
                        .name = "64 threads against the pattern's own way with 32",
                        .leasehold = {group + " store, 64 threads", *leasehold, 64},
                        .peer = {"a transaction an operation, 32 threads", *pattern, 32},
                        .goal = Goal{Goal::Direction::at_least, 6}},
                       settings));
}

}  // namespace

void run_mysql(const Settings& settings, Report& report) {
    testing::PrivateMysql server{mysql_options()};
    run_on(server, "mysql", settings, report);
}

void run_mariadb(const Settings& settings, Report& report) {
    testing::PrivateMariadb server{mariadb_options()};
    run_on(server, "mariadb", settings, report);
}

}  // namespace leasehold::bench
