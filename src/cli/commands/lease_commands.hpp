#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cli/input.hpp"
#include "cli/phrases.hpp"
#include "cli/subcommand.hpp"

// The options that check, extend, renew and release share: they name one lease by its lock id.
namespace leasehold::cli {

struct NamedLease {
    std::string key{};
    std::string type{};
    LockIdSource lock_id{};

    // Nothing if only the lock id is given.
    [[nodiscard]] std::optional<LockKey> locked_key() const;
};

// KEY, --type, --lock-id, --lock-id-file, --store and --json.
void add_lease_options(Subcommand& command, Invocation& call, NamedLease& lease);

// Prints the lease with `done_to_it` (phrases::is_alive), or the refusal; returns the exit code.
int answer(const Invocation& call, const Result<Lease>& result, const Phrase& done_to_it);

// "Order/1 is alive until 09:25:00 (5m), fence 17"
[[nodiscard]] std::string described(const Lease& lease, const Phrase& done_to_it);

}  // namespace leasehold::cli
