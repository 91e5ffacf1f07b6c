#include "cli/input.hpp"
#include "cli/output.hpp"

namespace leasehold::cli {

void add_release_all(CLI::App& app, Invocation& call) {
    struct Options {
        std::string owner, key, type;
        bool below = false;
    };
    const auto options = std::make_shared<Options>();
    Subcommand command{app, "release-all", "End all leases of an owner",
                       "  leasehold release-all alice/session-7 --below\n"
                       "  leasehold release-all alice --key Order/1"};
    command.required_text("owner", "OWNER", options->owner, "the owner whose leases end")
        .flag("--below", options->below, "and the leases of every owner below it")
        .text("--key", "KEY", options->key, "only on this key")
        .type(options->type)
        .store(call)
        .json(call);
    command.does(call, [&call, options] {
        std::optional<LockKey> key;
        if (!options->key.empty()) key = key_from(options->key, options->type);
        LockManager locks{open_shared_store(call)};
        const auto released = locks.release_all(
            options->owner, options->below ? OwnerScope::below : OwnerScope::exact, key);
        if (!released) return refuse(call, released.error());
        if (call.json) {
            print_json(*released);
            return static_cast<int>(done);
        }
        if (released->empty()) say(spoken(phrases::holds_nothing, {{"owner", options->owner}}));
        for (const Lease& lease : *released) {
            say(spoken(phrases::is_released, {{"key", lease.key.to_string()}}));
        }
        return static_cast<int>(done);
    });
}

}  // namespace leasehold::cli
