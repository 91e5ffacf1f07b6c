#include "cli/run/run.hpp"

#include <leasehold/errors.hpp>

#include <algorithm>
#include <system_error>

#include "cli/input.hpp"
#include "cli/output.hpp"

namespace leasehold::cli {
namespace {

using namespace std::chrono_literals;

constexpr Duration shortest_ttl = 1s;

struct RunFlags {
    LockOptions lock;  // as the options say it; the rest of it is filled in from the others
    std::string name, type;
    std::optional<Duration> wait, ttl, at_least_for, grace;
    std::optional<std::int64_t> places;
    bool shared = false, pass_lock_id = false, pass_store = false, quiet = false;
};

std::string file_name(const std::string& path) {
    return path.substr(path.rfind('/') + 1);
}

RunOptions checked(Invocation& call, const RunFlags& options) {
    if (call.after_dashes.empty() || call.after_dashes.front().empty()) {
        throw WrongUsage{
            "the command to run is missing; write `--` and the command after the name:",
            {"leasehold run nightly-report -- ./report.sh"}};
    }
    const Duration ttl = options.ttl.value_or(60s);
    if (ttl < shortest_ttl) {
        throw BadRequest{"--ttl " + in_words(ttl) + " is too short to renew in; at least " +
                         in_words(shortest_ttl)};
    }
    const Duration grace = options.grace.value_or(std::min<Duration>(ttl / 6, 10s));
    if (grace > ttl / 2) {
        throw BadRequest{"--grace " + in_words(grace) + " is more than half of the ttl, " +
                         in_words(ttl) + ": too little time is left to renew it"};
    }
    LockOptions lock = options.lock;
    lock.owner = owner_from(call, lock.owner);
    lock.mode = options.shared ? Mode::shared : Mode::exclusive;
    lock.places = places_from(options.places);
    if (lock.note.empty()) lock.note = file_name(call.after_dashes.front());
    return {.key = key_from(options.name, options.type),
            .command = call.after_dashes,
            .lock = std::move(lock),
            .ttl = ttl,
            .wait = options.wait.value_or(Duration::zero()),
            .at_least_for = options.at_least_for.value_or(Duration::zero()),
            .grace = grace,
            .pass_lock_id = options.pass_lock_id,
            .pass_store = options.pass_store,
            .quiet = options.quiet};
}

}  // namespace

void add_run(CLI::App& app, Invocation& call) {
    const auto options = std::make_shared<RunFlags>();
    Subcommand command{
        app, "run", "Run a command while holding a lock",
        "  leasehold run nightly-report -- ./report.sh --all\n"
        "  leasehold run --at-least-for 10s nightly-report -- ./report.sh\n"
        "  leasehold run --wait 30s --ttl 1m deploy -- make deploy\n"
        "  leasehold run --places 3 --wait 1h encode -- ./encode.sh    # three at a time\n"
        "\n"
        "Exit codes: the command's own (128 + N if signal N ended it), 120 refused, 121\n"
        "the lease was lost and the command stopped, 122 the store failed before the\n"
        "command was started, 123 the server does not allow it, 126 the command cannot be\n"
        "executed, 127 it was not found."};
    command.required_text("name", "NAME", options->name, "what to lock, a name or TYPE/ID")
        .duration("--wait", options->wait,
                  "how long to wait for the lock, and for a store that fails (0s)")
        .duration("--ttl", options->ttl, "how long the lock stays taken if this host dies (60s)")
        .duration("--at-least-for", options->at_least_for,
                  "keep the lock at least this long, even if the command ends sooner (0s)")
        .duration("--grace", options->grace,
                  "time from SIGTERM to SIGKILL when the lease is lost (a sixth of the ttl, at "
                  "most 10s)")
        .text("--owner", "OWNER", options->lock.owner,
              "shown to others, followed by /run-... (USER@HOST)")
        .requested_texts(options->lock, {{"note", "the program's name"}})
        .flag("--shared", options->shared, "share the lock with others who share it")
        .number("--places", "N", options->places,
                "let N of these commands run at the same time, on all hosts together")
        .flag("--pass-lock-id", options->pass_lock_id,
              "give the command the lock id, as LEASEHOLD_LOCK_ID")
        .flag("--pass-store", options->pass_store,
              "give the command LEASEHOLD_STORE and the token, which it does not get otherwise")
        .flag("-q,--quiet", options->quiet, "print nothing when refused")
        .type(options->type)
        .store(call)
        .followed_by("-- COMMAND [ARGUMENTS]");
    command.does(call, [&call, options]() -> int {
        try {
            return run_under_lock(call, checked(call, *options));
        } catch (const std::system_error& error) {
            complain(error.what());
            return not_executable;
        }
    });
}

}  // namespace leasehold::cli
