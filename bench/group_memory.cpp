#include <leasehold/lock_manager.hpp>
#include <leasehold/open_store.hpp>

#include "groups.hpp"

namespace leasehold::bench {

void run_memory(const Settings& settings, Report& report) {
    LockManager locks{open_store("memory:")};
    const auto leasehold = make_leasehold(locks);
    const auto floor = make_floor_memory();
    report.add(compare({.group = "memory",
                        .name = "1 thread against a mutex and a hash map",
                        .leasehold = {"memory store, 1 thread", *leasehold},
                        .peer = {"std::mutex and std::unordered_map, 1 thread", *floor},
                        .goal = Goal{Goal::Direction::at_least, 0.25}},
                       settings));
    report.add(compare({.group = "memory",
                        .name = "2 threads against 1",
                        .leasehold = {"memory store, 2 threads", *leasehold, 2},
                        .peer = {"memory store, 1 thread", *leasehold},
                        .goal = Goal{Goal::Direction::at_least, 1}},
                       settings));
}

}  // namespace leasehold::bench
