#include <leasehold/lock_manager.hpp>
#include <leasehold/open_store.hpp>

#include "groups.hpp"
#include "servers.hpp"

namespace leasehold::bench {

void run_postgres(const Settings& settings, Report& report) {
    testing::PrivatePostgres server{postgres_options()};
    for (const char* database : {"floor", "pattern"}) server.create_database(database);
    LockManager locks{open_store(server.url() + "?durability=strict")};
    const auto leasehold = make_leasehold(locks);
    {
        const auto floor = make_floor_postgres(server.url("floor"));
        report.add(compare({.group = "postgres",
                            .name = "1 thread against one statement an operation",
                            .leasehold = {"postgres store, 1 thread", *leasehold},
                            .peer = {"one prepared statement an operation, 1 thread", *floor},
                            .goal = Goal{Goal::Direction::at_least, 0.85}},
                           settings));
    }
    const auto pattern = make_pattern_postgres(server.url("pattern"), 32);
    report.add(compare({.group = "postgres",
                        .name = "64 threads against the pattern's own way with 32",
                        .leasehold = {"postgres store, 64 threads", *leasehold, 64},
                        .peer = {"a transaction an operation, 32 threads", *pattern, 32},
                        .goal = Goal{Goal::Direction::at_least, 6}},
                       settings));
}

}  // namespace leasehold::bench
