#include <leasehold/errors.hpp>

#include <optional>

#include "cli/commands/lease_commands.hpp"
#include "cli/output.hpp"
#include "core/secret_file.hpp"
#include "core/unique_owner.hpp"

namespace leasehold::cli {
namespace {

struct TryOptions {
    std::vector<std::string> keys;
    LockOptions lock;  // as the options say it; the rest of it is filled in from the others
    std::string type, lock_id_file;
    std::optional<Duration> wait;
    std::optional<std::int64_t> places;
    bool shared = false;
    bool quiet = false;
};

Result<std::vector<Lease>> take(const Invocation& call, const std::vector<LockKey>& keys,
                                const LockOptions& options, Duration wait) {
    const auto until = SteadyClock::now() + wait;
    LockManager locks{open_shared_store(call, until, {})};
    const Duration left = until - SteadyClock::now();
    if (keys.size() > 1) return locks.lock_all_for(keys, left, options);
    auto taken = locks.lock_for(keys.front(), left, options);
    if (!taken) return std::unexpected{std::move(taken.error())};
    return std::vector<Lease>{*std::move(taken)};
}

void print_leases(const std::vector<Lease>& leases, const TryOptions& options) {
    for (const Lease& lease : leases) {
        if (options.quiet) {
            if (options.lock_id_file.empty()) say(lease.lock_id.to_string());
            continue;
        }
        say(described(lease, phrases::is_yours));
        if (options.lock_id_file.empty())
            say(spoken(phrases::lock_id, {{"id", lease.lock_id.to_string()}}));
    }
}

int take(Invocation& call, const TryOptions& options) {
    std::vector<LockKey> keys;
    for (const std::string& key : options.keys) keys.push_back(key_from(key, options.type));
    const bool several = keys.size() > 1;
    if (several && !options.lock_id_file.empty()) {
        throw BadRequest{"--lock-id-file takes one key: several keys have several lock ids"};
    }
    if (several && options.lock.since) throw BadRequest{"--since takes one key"};
    const SecretFile secret{{.what = "the lock id file", .path = options.lock_id_file}};
    LockOptions lock = options.lock;
    if (lock.owner.empty()) lock.owner = unique_owner(owner_from(call, {}), "try");
    lock.mode = options.shared ? Mode::shared : Mode::exclusive;
    lock.places = places_from(options.places);
    const auto leases = take(call, keys, lock, options.wait.value_or(Duration::zero()));
    if (!leases) return refuse(call, leases.error());
    if (!options.lock_id_file.empty()) secret.write(leases->front().lock_id.to_string());
    if (!call.json)
        print_leases(*leases, options);
    else if (several)
        print_json(*leases);
    else
        print_json(leases->front());
    return done;
}

}  // namespace

void add_try(CLI::App& app, Invocation& call) {
    const auto options = std::make_shared<TryOptions>();
    Subcommand command{app, "try", "Take a lock, or say who has it",
                       "  leasehold try Order/1 --owner alice --ttl 10m\n"
                       "  leasehold try Order/1 Invoice/7          # both or none\n"
                       "  leasehold try Order/1 --lock-id-file ~/.order-1 --wait 30s\n"
                       "  LEASEHOLD_LOCK_ID=$(leasehold try -q Order/1) || exit"};
    command
        .required_texts("KEY", options->keys,
                        "what to lock, TYPE/ID or a name; of several keys all or none")
        .text("--owner", "OWNER", options->lock.owner, "who holds the lease (USER@HOST/try-...)")
        .duration("--ttl", options->lock.ttl, "how long the lease lives unless it is renewed (5m)")
        .duration("--wait", options->wait,
                  "how long to wait for the lock, in a server's line or by asking again (0s)")
        .flag("--shared", options->shared, "share the key with others who share it")
        .number("--places", "N", options->places, "share the key with at most N - 1 others")
        .requested_texts(options->lock)
        .number("--since", "FENCE", options->lock.since,
                "only if nobody was granted the key after this fence")
        .text("--lock-id-file", "FILE", options->lock_id_file,
              "write the lock id to this file (mode 0600) instead of printing it")
        .flag("-q,--quiet", options->quiet, "print the lock id and nothing else")
        .type(options->type)
        .store(call)
        .json(call);
    command.does(call, [&call, options] { return take(call, *options); });
}

}  // namespace leasehold::cli
