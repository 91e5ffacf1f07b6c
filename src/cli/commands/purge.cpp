#include "cli/output.hpp"

namespace leasehold::cli {

void add_purge(CLI::App& app, Invocation& call) {
    Subcommand command{app, "purge", "Forget leases that ended before the retention time",
                       "  leasehold purge\n"
                       "  leasehold purge --store 'sqlite:locks.db?retention_s=3600'"};
    command.store(call).json(call);
    command.does(call, [&call] {
        LockManager locks{open_shared_store(call)};
        const std::size_t forgotten = locks.purge();
        if (call.json)
            print_json(Purged{.forgotten = forgotten, .complete = true});
        else
            say(spoken(forgotten == 1 ? phrases::forgot_one : phrases::forgot,
                       {{"count", std::to_string(forgotten)}}));
        return static_cast<int>(done);
    });
}

}  // namespace leasehold::cli
