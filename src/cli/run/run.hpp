#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <leasehold/lock_manager.hpp>

#include "cli/subcommand.hpp"

namespace leasehold::cli {

// Exit codes of `run`, besides the command's own.
enum RunExit : int {
    lock_refused = 120,
    lease_lost = 121,
    store_failed_before = 122,
    not_allowed_before = 123,
    not_executable = 126,
    not_found = 127,
    ended_by_signal = 128  // plus the signal
};

struct RunOptions {
    LockKey key;
    std::vector<std::string> command{};  // the program and its arguments
    LockOptions lock{};
    Duration ttl{};  // of the lock
    Duration wait{};
    Duration at_least_for{};
    Duration grace{};
    bool pass_lock_id = false;
    bool pass_store = false;
    bool quiet = false;
};

// How long before the end of a lease the command is killed, so that it is dead when the lease ends.
[[nodiscard]] constexpr Duration time_to_die(Duration ttl) {
    return std::min<Duration>(ttl / 10, std::chrono::seconds{2});
}

// Runs the command while it holds the lease; returns the exit code.
[[nodiscard]] int run_under_lock(const Invocation& call, const RunOptions& options);

}  // namespace leasehold::cli
