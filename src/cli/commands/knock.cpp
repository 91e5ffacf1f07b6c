#include "stores/http/knock.hpp"

#include <leasehold/errors.hpp>

#include <boost/json/object.hpp>

#include "cli/input.hpp"
#include "cli/output.hpp"
#include "server_url.hpp"

namespace leasehold::cli {
namespace {

StoreUrl server_named(const Invocation& call, const LockKey& key) {
    const StoreUrl url = StoreUrl::parse(named_store(call), {});
    if (url.scheme == "http" || url.scheme == "https") return url;
    throw BadRequest{"a knock needs a Leasehold server that tells the holder of " +
                     key.to_string() +
                     "; this store has none. Start one on it with `leasehold serve`, and give "
                     "--store http://HOST:PORT"};
}

int refuse_knock(const Invocation& call, const http::KnockRefused& no) {
    if (call.json) {
        print_json(boost::json::object{{"refused", {{"code", no.code}, {"detail", no.detail}}}});
    } else {
        complain(no.detail);
    }
    return refused;
}

}  // namespace

void add_knock(CLI::App& app, Invocation& call) {
    struct Options {
        std::string key, type, message, owner;
    };
    const auto options = std::make_shared<Options>();
    Subcommand command{app, "knock", "Ask the holder for the lock, through a server",
                       "  export LEASEHOLD_STORE=http://127.0.0.1:7470\n"
                       "  leasehold knock Order/1 --message 'May I have it for five minutes?'"};
    command.required_text("key", "KEY", options->key, "what is locked, TYPE/ID or a name")
        .text("--message", "TEXT", options->message, "what the holder reads")
        .text("--owner", "OWNER", options->owner, "who you are (USER@HOST); the holder reads it")
        .type(options->type)
        .store(call)
        .json(call);
    command.does(call, [&call, options]() -> int {
        const LockKey key = key_from(options->key, options->type);
        const StoreUrl url = server_named(call, key);
        if (options->message.empty()) {
            throw BadRequest{
                "the message is missing; give --message TEXT, which the holder will read"};
        }
        const http::Knock knock{.owner = owner_from(call, options->owner),
                                .message = options->message,
                                .language = call.json ? Language::english : our_language()};
        const auto asked = http::knock(server_at(url), url.options.io_timeout, key, knock);
        if (!asked) return refuse_knock(call, asked.error());
        if (call.json) {
            print_json(*asked);
            return done;
        }
        for (const Holder& holder : *asked) {
            say(spoken(phrases::is_asked,
                       {{"owner", named(holder.owner)}, {"key", key.to_string()}}));
        }
        return done;
    });
}

}  // namespace leasehold::cli
