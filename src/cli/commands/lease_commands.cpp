#include "cli/commands/lease_commands.hpp"

#include "cli/output.hpp"

namespace leasehold::cli {

std::optional<LockKey> NamedLease::locked_key() const {
    if (!key.empty()) return key_from(key, type);
    return std::nullopt;
}

void add_lease_options(Subcommand& command, Invocation& call, NamedLease& lease) {
    command.text("key", "KEY", lease.key, "what is locked, TYPE/ID or a name")
        .text("--lock-id", "ID", lease.lock_id.option,
              "the lease's secret; '-' reads it from standard input")
        .text("--lock-id-file", "FILE", lease.lock_id.file, "read the lock id from this file")
        .type(lease.type)
        .store(call)
        .json(call);
}

std::string described(const Lease& lease, const Phrase& done_to_it) {
    std::string until;
    if (const auto left = lease.remaining(); left && !lease.ended) {
        until = spoken(phrases::until,
                       {{"time", local_time(lease.expires_at)}, {"left", spoken(*left)}});
    }
    return spoken(
        done_to_it,
        {{"key", lease.key.to_string()}, {"until", until}, {"fence", std::to_string(lease.fence)}});
}

int answer(const Invocation& call, const Result<Lease>& result, const Phrase& done_to_it) {
    if (!result) return refuse(call, result.error());
    if (call.json)
        print_json(*result);
    else
        say(described(*result, done_to_it));
    return done;
}

}  // namespace leasehold::cli
