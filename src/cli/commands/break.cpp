#include <leasehold/errors.hpp>

#include "cli/input.hpp"
#include "cli/output.hpp"
#include "core/grant.hpp"

namespace leasehold::cli {
namespace {

void require(bool has_fence, bool has_reason) {
    if (has_fence && has_reason) return;
    std::string problem = "break needs ";
    if (!has_fence) problem += "--fence FENCE (`leasehold who` shows it)";
    if (!has_fence && !has_reason) problem += " and ";
    if (!has_reason) problem += "--reason TEXT (the holder reads it)";
    throw BadRequest{problem};
}

}  // namespace

void add_break(CLI::App& app, Invocation& call) {
    struct Options {
        std::string key, type, by, reason;
        std::optional<std::int64_t> fence;
    };
    const auto options = std::make_shared<Options>();
    Subcommand command{
        app, "break", "End somebody else's lease, with a reason",
        "  leasehold who Order/1      # shows the fence\n"
        "  leasehold break Order/1 --fence 1789466400000000 --reason 'left for the day'"};
    command.required_text("key", "KEY", options->key, "what is locked, TYPE/ID or a name")
        .number("--fence", "FENCE", options->fence, "the fence of the lease to end; `who` shows it")
        .text("--reason", "TEXT", options->reason, "why; the holder reads it")
        .text("--by", "WHO", options->by, "who you are (USER@HOST); the holder reads it")
        .type(options->type)
        .store(call)
        .json(call);
    command.does(call, [&call, options] {
        require(options->fence.has_value(), !options->reason.empty());
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
            say(spoken(phrases::is_broken, {{"owner", owner}, {"key", key.to_string()}}));
        return static_cast<int>(done);
    });
}

}  // namespace leasehold::cli
