#include <leasehold/lock_manager.hpp>
#include <leasehold/open_store.hpp>

#include "groups.hpp"
#include "support/process.hpp"

namespace leasehold::bench {

void run_sqlite(const Settings& settings, Report& report) {
    const testing::TemporaryFolder folder{"leasehold-compare"};
    const std::string path = folder.path().string();
    LockManager locks{open_store("sqlite:" + path + "/leasehold.db?durability=strict")};
    const auto leasehold = make_leasehold(locks);
    const auto floor = make_floor_sqlite(path + "/floor.db");
    report.add(compare({.group = "sqlite",
                        .name = "1 thread against one statement an operation",
                        .leasehold = {"sqlite store, 1 thread", *leasehold},
                        .peer = {"one prepared statement an operation, 1 thread", *floor},
                        .goal = Goal{Goal::Direction::at_least, 0.8}},
                       settings));
    report.add(compare({.group = "sqlite",
                        .name = "64 threads against 1",
                        .leasehold = {"sqlite store, 64 threads", *leasehold, 64},
                        .peer = {"sqlite store, 1 thread", *leasehold},
                        .goal = Goal{Goal::Direction::at_least, 10}},
                       settings));
}

}  // namespace leasehold::bench
