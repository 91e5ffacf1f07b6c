#include "cli/commands/lease_commands.hpp"

namespace leasehold::cli {

void add_check(CLI::App& app, Invocation& call) {
    const auto lease = std::make_shared<NamedLease>();
    Subcommand command{app, "check", "Say whether a lease is alive; writes nothing",
                       "  leasehold check Order/1 --lock-id-file ~/.order-1\n"
                       "  LEASEHOLD_LOCK_ID=... leasehold check Order/1"};
    add_lease_options(command, call, *lease);
    command.shows(call, [&call, lease] {
        const LockId id = lock_id_from(lease->lock_id);
        const auto key = lease->locked_key();
        LockManager locks{open_shared_store(call)};
        return answer(call, key ? locks.check(*key, id) : locks.check(id), phrases::is_alive);
    });
}

}  // namespace leasehold::cli
