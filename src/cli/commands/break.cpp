#include <leasehold/errors.hpp>

#include <iostream>

#include "cli/input.hpp"
#include "cli/output.hpp"
#include "core/grant.hpp"

namespace leasehold::cli {

void add_break(CLI::App& app, Invocation& call) {
    struct Options {
        std::string key, type, by, reason;
        std::optional<std::int64_t> fence;
    };
    const auto options = std::make_shared<Options>();
    Subcommand command{
        app, "break", "End somebody else's lease, and tell them why",
        "  leasehold who Order/1      # shows the fence\n"
        "  leasehold break Order/1 --fence 1789466400000000 --reason 'left for the day'"};
    command.required_text("key", "KEY", options->key, "what is locked, TYPE/ID or a name")
        .number("--fence", "FENCE", options->fence, "of the lease to end, as `who` shows it")
        .text("--reason", "TEXT", options->reason, "why; the holder is told")
        .text("--by", "WHO", options->by, "who you are (USER@HOST); the holder is told")
        .type(options->type)
        .store(call)
        .json(call);
    command.does(call, [&call, options] {
        if (!options->fence) {
            throw BadRequest{"which lease? give its --fence, as `leasehold who` shows it"};
        }
        if (options->reason.empty()) {
            throw BadRequest{"why? give a --reason; the holder will read it"};
        }
        const LockKey key = key_from(options->key, options->type);
        LockManager locks{open_shared_store(call)};
        auto broken =
            locks.break_lock(key, *options->fence, options->by.empty() ? who_we_are() : options->by,
                             options->reason);
        if (!broken) return refuse(call, broken.error());
        const std::string owner = named(broken->owner);
        if (call.json)
            print_json(HolderPage{.items = {holder_of(*broken)}, .store_now = broken->store_now});
        else
            std::cout << "the lease of " << fitted(owner) << " on " << fitted(key.to_string())
                      << " is broken\n";
        return static_cast<int>(done);
    });
}

}  // namespace leasehold::cli
