#include <leasehold/errors.hpp>

#include "cli/listing.hpp"
#include "cli/output.hpp"

namespace leasehold::cli {

void add_ls(CLI::App& app, Invocation& call) {
    struct Options {
        Selection selection;
        std::optional<std::int64_t> limit;
    };
    const auto options = std::make_shared<Options>();
    Subcommand command{app, "ls", "List the live leases",
                       "  leasehold ls\n"
                       "  leasehold ls --type Order\n"
                       "  leasehold ls --owner alice --below --json"};
    add_selection(command, call, options->selection);
    command.number("--limit", "N", options->limit, "how many to show at most (1000)").json(call);
    command.shows(call, [&call, options] {
        const auto most = static_cast<std::size_t>(options->limit.value_or(1000));
        if (most == 0) throw BadRequest{"--limit takes a number above 0"};
        LockManager locks{open_shared_store(call)};
        const HolderPage holders = select(locks, options->selection, most);
        if (call.json) {
            print_json(holders);
            return static_cast<int>(done);
        }
        if (holders.empty())
            say(spoken(phrases::nothing_locked));
        else
            table_of(holders).print();
        if (holders.size() == most) complain(spoken(phrases::may_be_more));
        return static_cast<int>(done);
    });
}

}  // namespace leasehold::cli
