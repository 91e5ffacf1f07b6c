#include "cli/commands/lease_commands.hpp"
#include "cli/output.hpp"

namespace leasehold::cli {

void add_release(CLI::App& app, Invocation& call) {
    const auto lease = std::make_shared<NamedLease>();
    Subcommand command{app, "release", "End a lease",
                       "  leasehold release Order/1 --lock-id-file ~/.order-1\n"
                       "  pass show order-lock | leasehold release Order/1 --lock-id -"};
    add_lease_options(command, call, *lease);
    command.does(call, [&call, lease] {
        const LockId id = lock_id_from(lease->lock_id);
        const auto key = lease->locked_key();
        LockManager locks{open_shared_store(call)};
        const auto released = key ? locks.release(*key, id) : locks.release(id);
        if (!released) return refuse(call, released.error());
        if (call.json)
            print_json(*released);
        else
            say(spoken(phrases::is_released, {{"key", released->key.to_string()}}));
        return static_cast<int>(done);
    });
}

}  // namespace leasehold::cli
