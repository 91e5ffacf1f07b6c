#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <leasehold/lock_manager.hpp>
#include <leasehold/store.hpp>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace leasehold::cli {

enum Exit : int {
    done = 0,
    refused = 1,
    wrong_usage = 2,
    store_failed = 3,    // and nothing happened
    effect_unknown = 4,  // the store failed, perhaps after it happened
    not_allowed = 5,     // by a server: the token is not known there, or may not do this
    not_written = 6      // it happened, and standard output did not take the answer
};

// One call of the command.
struct Invocation {
    std::string store{};
    bool json = false;
    std::vector<std::string> after_dashes{};  // what stands after `--`
    int exit_code = done;
};

// Adds one subcommand with its options to the command, without CLI11's headers. The values that
// options are read into must outlive the call: let the action own them.
class Subcommand {
public:
    Subcommand(CLI::App& app, const char* name, const char* summary, const char* examples);

    Subcommand& flag(const char* names, bool& value, const char* help);
    // `kind` names the value in the help. Without dashes, `names` is positional.
    Subcommand& text(const char* names, const char* kind, std::string& value, const char* help);
    Subcommand& required_text(const char* names, const char* kind, std::string& value,
                              const char* help);
    // Positional.
    Subcommand& required_texts(const char* kind, std::vector<std::string>& values,
                               const char* help);
    Subcommand& number(const char* names, const char* kind, std::optional<std::int64_t>& value,
                       const char* help);
    Subcommand& duration(const char* names, std::optional<Duration>& value, const char* help);

    // Hands over the text that was given, if any.
    Subcommand& text(const char* names, const char* kind, const char* help,
                     const std::function<void(const std::string&)>& take);

    // The option that was added by this name may be given several times; its texts are joined with
    // commas.
    Subcommand& repeatable(const char* name);

    // What else stands on the command line, behind everything that was added.
    Subcommand& followed_by(const char* usage);

    // --store
    Subcommand& store(Invocation& call);
    // --json
    Subcommand& json(Invocation& call);
    // --type
    Subcommand& type(std::string& value);

    // The action returns the exit code.
    void does(Invocation& call, std::function<int()> action);

private:
    CLI::Option* option(const char* names, const char* kind, const char* help,
                        const std::function<void(const std::string&)>& read);

    CLI::App& command_;
};

[[nodiscard]] const char* version() noexcept;

// The URL of the store that was named. Throws BadRequest where none was.
[[nodiscard]] std::string named_store(const Invocation& call);

// Opens it. Throws BadRequest also where it is one that nobody else can see.
[[nodiscard]] std::unique_ptr<Store> open_shared_store(const Invocation& call);

// The whole command line, every subcommand included.
void add_everything(CLI::App& app, Invocation& call);

// Each in a file of its own under commands/, and listed in subcommand.cpp.
void add_break(CLI::App& app, Invocation& call);
void add_check(CLI::App& app, Invocation& call);
void add_completion(CLI::App& app, Invocation& call);
void add_doctor(CLI::App& app, Invocation& call);
void add_extend(CLI::App& app, Invocation& call);
void add_history(CLI::App& app, Invocation& call);
void add_knock(CLI::App& app, Invocation& call);
void add_ls(CLI::App& app, Invocation& call);
void add_purge(CLI::App& app, Invocation& call);
void add_release(CLI::App& app, Invocation& call);
void add_release_all(CLI::App& app, Invocation& call);
void add_renew(CLI::App& app, Invocation& call);
void add_run(CLI::App& app, Invocation& call);
void add_serve(CLI::App& app, Invocation& call);
void add_token(CLI::App& app, Invocation& call);
void add_try(CLI::App& app, Invocation& call);
void add_watch(CLI::App& app, Invocation& call);
void add_who(CLI::App& app, Invocation& call);

}  // namespace leasehold::cli
