#include <leasehold/errors.hpp>

#include <cstdlib>

#include "cli/input.hpp"
#include "cli/output.hpp"

namespace leasehold::cli {

void add_knock(CLI::App& app, Invocation& call) {
    struct Options {
        std::string key, type, message;
    };
    const auto options = std::make_shared<Options>();
    Subcommand command{app, "knock", "Ask the holder for the lock, through a server",
                       "  leasehold knock Order/1 --message 'May I have it for five minutes?'"};
    command.required_text("key", "KEY", options->key, "what is locked, TYPE/ID or a name")
        .text("--message", "TEXT", options->message, "what to say")
        .type(options->type)
        .store(call);
    command.does(call, [&call, options]() -> int {
        const LockKey key = key_from(options->key, options->type);
        const char* const variable = std::getenv("LEASEHOLD_STORE");
        const std::string url = !call.store.empty() ? call.store : variable ? variable : "";
        if (url.starts_with("http:") || url.starts_with("https:")) {
            throw BadRequest{
                "this command does not speak the server's knock; send it with curl:\n"
                "  curl -X POST SERVER/v1/locks/TYPE/ID/knock -d '{\"message\": \"...\"}'"};
        }
        throw BadRequest{"a knock needs a Leasehold server that tells the holder of " +
                         key.to_string() +
                         "; this store has none. Start one on it with `leasehold serve`, and give "
                         "--store http://HOST:PORT"};
    });
}

}  // namespace leasehold::cli
