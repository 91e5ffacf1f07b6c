#include "cli/commands/lease_commands.hpp"

namespace leasehold::cli {

void add_renew(CLI::App& app, Invocation& call) {
    struct Options {
        NamedLease lease;
        std::optional<Duration> ttl;
    };
    const auto options = std::make_shared<Options>();
    Subcommand command{app, "renew", "Set the expiry of a lease to now plus the ttl",
                       "  leasehold renew Order/1 --ttl 5m --lock-id-file ~/.order-1"};
    command.duration("--ttl", options->ttl,
                     "how long the lease lives from now (5m); never shortens it");
    add_lease_options(command, call, options->lease);
    command.does(call, [&call, options] {
        const LockId id = lock_id_from(options->lease.lock_id);
        const auto key = options->lease.locked_key();
        LockManager locks{open_shared_store(call)};
        const Duration ttl = options->ttl.value_or(locks.limits().default_ttl);
        return answer(call, key ? locks.renew(*key, id, ttl) : locks.renew(id, ttl),
                      phrases::is_renewed);
    });
}

}  // namespace leasehold::cli
