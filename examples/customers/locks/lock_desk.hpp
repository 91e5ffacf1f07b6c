#pragma once

#include <chrono>
#include <cstddef>
#include <iostream>
#include <memory>
#include <utility>

#include <leasehold/lock_manager.hpp>
#include <leasehold/store.hpp>
#include <leasehold/web/lock_routes.hpp>

#include "domain/lock_rules.hpp"

namespace customers {

// Everything about locks that the whole application shares. Thread-safe.
struct LockDesk {
    // The longest time that a page can hold a lock by renewing it.
    static constexpr std::chrono::hours longest_edit{8};
    // Half of the threads of the web server.
    static constexpr std::size_t waiting_threads = 32;

    LockDesk(std::unique_ptr<leasehold::Store> store, leasehold::Duration life)
        : locks{std::move(store), {.max_hold = longest_edit}},
          routes{locks,
                 [](const auto&, const auto& key, auto mode) { return may_be_locked(key, mode); },
                 {.ttl = life,
                  .max_hold = longest_edit,
                  .waiting_threads = waiting_threads,
                  .on_fault =
                      [](const leasehold::StoreFault& fault) {
                          std::cerr << "customers: the locks: " << fault.what() << '\n';
                      }}},
          ttl{life} {}

    leasehold::LockManager locks;
    kit::LockRoutes routes;
    const leasehold::Duration ttl;  // of an edit lock; the page renews it
    // Whether the database refuses to write a record without its lock. Set before the first visit.
    bool database_enforces = false;
};

}  // namespace customers
