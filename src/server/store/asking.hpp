#pragma once

#include <leasehold/store.hpp>

// What is asked of the store, what the server asks for itself, and what it answers instead.
namespace leasehold::server {

[[nodiscard]] inline bool is_try(const Request& request) {
    return std::holds_alternative<TryLock>(request) || std::holds_alternative<TryLockAll>(request);
}

[[nodiscard]] inline bool is_about_own_lease(const Request& request) {
    return std::holds_alternative<Check>(request) || std::holds_alternative<Extend>(request) ||
           std::holds_alternative<Renew>(request) || std::holds_alternative<Release>(request);
}

// The cheapest question. Its answer, a page without holders, carries the store's time.
[[nodiscard]] inline Request what_time_is_it() {
    return Holders{LockKey{"leasehold", "time"}};
}

[[nodiscard]] inline StoreFault sent_away(const char* why) {
    return {StoreFault::Effect::none, StoreFault::Cause::unavailable, why};
}

}  // namespace leasehold::server
