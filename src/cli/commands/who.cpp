#include "cli/input.hpp"
#include "cli/output.hpp"

namespace leasehold::cli {

void add_who(CLI::App& app, Invocation& call) {
    struct Options {
        std::string key, type;
    };
    const auto options = std::make_shared<Options>();
    Subcommand command{app, "who", "Name the holders of a key",
                       "  leasehold who Order/1\n"
                       "  leasehold who --type Order 1 --json"};
    command.required_text("key", "KEY", options->key, "what is locked, TYPE/ID or a name")
        .type(options->type)
        .store(call)
        .json(call);
    command.shows(call, [&call, options] {
        const LockKey key = key_from(options->key, options->type);
        LockManager locks{open_shared_store(call)};
        const HolderPage holders = locks.holders(key);
        if (call.json)
            print_json(holders);
        else if (holders.empty())
            say(spoken(phrases::nobody_holds, {{"key", key.to_string()}}));
        else
            table_of(holders).print();
        return static_cast<int>(done);
    });
}

}  // namespace leasehold::cli
