#include <leasehold/errors.hpp>

#include "cli/commands/lease_commands.hpp"

namespace leasehold::cli {

void add_extend(CLI::App& app, Invocation& call) {
    struct Options {
        NamedLease lease;
        std::optional<Duration> by;
    };
    const auto options = std::make_shared<Options>();
    Subcommand command{app, "extend", "Add to the expiry of a lease",
                       "  leasehold extend Order/1 --by 10m --lock-id-file ~/.order-1"};
    command.duration("--by", options->by, "how much to add");
    add_lease_options(command, call, options->lease);
    command.does(call, [&call, options] {
        if (!options->by) throw BadRequest{"extend needs --by DURATION, as in --by 10m"};
        const LockId id = lock_id_from(options->lease.lock_id);
        const auto key = options->lease.locked_key();
        LockManager locks{open_shared_store(call)};
        return answer(call,
                      key ? locks.extend(*key, id, *options->by) : locks.extend(id, *options->by),
                      phrases::is_extended);
    });
}

}  // namespace leasehold::cli
