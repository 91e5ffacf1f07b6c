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

// Nobody has this lock id: the refusal brings the store's time. With a key, it is looked for there
// alone.
[[nodiscard]] inline Request what_time_is_it() {
    return Check{LockKey{"leasehold", "time"}, LockId::random()};
}

[[nodiscard]] inline StoreFault sent_away(const char* why) {
    return {StoreFault::Effect::none, StoreFault::Cause::unavailable, why};
}

}  // namespace leasehold::server
