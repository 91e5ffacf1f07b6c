#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <leasehold/errors.hpp>
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
    store_failed = 3,    // nothing was changed
    effect_unknown = 4,  // the store failed, and may have made the change
    not_allowed = 5,     // the server does not know the token, or the token may not do this
    not_written = 6      // the store answered, and the answer could not be written
};

// A mistake in the command line, with lines that show how to write it.
class WrongUsage : public BadRequest {
public:
    WrongUsage(const std::string& what, std::vector<std::string> examples)
        : BadRequest{what}, examples_{std::move(examples)} {}
    [[nodiscard]] const std::vector<std::string>& examples() const noexcept { return examples_; }

private:
    std::vector<std::string> examples_;
};

// Whether a subcommand can change what the store holds.
enum class Effect : std::uint8_t { reads, changes };

// One call of the command.
struct Invocation {
    std::string store{};
    bool json = false;
    std::vector<std::string> after_dashes{};  // the arguments after `--`
    Effect effect = Effect::changes;          // of the subcommand that was called
    bool asks_as_user = false;                // no --owner was given: asks as USER@HOST
    int exit_code = done;
};

// Adds one subcommand with its options, and hides CLI11's headers. The variables that options are
// read into must live until the action has run: let the action own them.
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

    // Calls `take` with the text, if the option is given.
    Subcommand& text(const char* names, const char* kind, const char* help,
                     const std::function<void(const std::string&)>& take);

    // Lets the option of this name be given several times; its texts are joined with commas.
    Subcommand& repeatable(const char* name);

    // Shows the option of this name under a heading of the help.
    Subcommand& group(const char* option, const std::string& heading);

    // The end of the usage line, after all options and arguments.
    Subcommand& followed_by(const char* usage);

    // --store
    Subcommand& store(Invocation& call);
    // --json
    Subcommand& json(Invocation& call);
    // --type
    Subcommand& type(std::string& value);
    // The texts that a try brings besides the owner, such as --note. `defaults` are shown with
    // the help: what the text of a field is if it is not given.
    struct Default {
        std::string_view field;
        std::string_view text;
    };
    Subcommand& requested_texts(LockOptions& lock, std::initializer_list<Default> defaults = {});

    // The action returns the exit code.
    void does(Invocation& call, std::function<int()> action);
    // The same for a subcommand that changes nothing in the store.
    void shows(Invocation& call, std::function<int()> action);

private:
    CLI::Option* option(const char* names, const char* kind, const char* help,
                        const std::function<void(const std::string&)>& read);

    CLI::App& command_;
};

[[nodiscard]] const char* version() noexcept;

// The URL of the store, from --store or LEASEHOLD_STORE. Throws BadRequest where neither is given.
[[nodiscard]] std::string named_store(const Invocation& call);

// Opens the store. Throws BadRequest for `memory:` too, which no other process can see.
[[nodiscard]] std::unique_ptr<Store> open_shared_store(const Invocation& call);
// The same, but asks again while the store cannot be reached, until that time or `stop`. Then
// throws the last fault.
[[nodiscard]] std::unique_ptr<Store> open_shared_store(const Invocation& call,
                                                       SteadyClock::time_point until,
                                                       const std::stop_token& stop);

// The owner to ask for: the option, or USER@HOST.
[[nodiscard]] std::string owner_from(Invocation& call, const std::string& option);

// --places. Throws BadRequest for a number below 1.
[[nodiscard]] std::optional<std::size_t> places_from(std::optional<std::int64_t> option);

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
void add_manual(CLI::App& app, Invocation& call);
void add_protect(CLI::App& app, Invocation& call);
void add_protected(CLI::App& app, Invocation& call);
void add_purge(CLI::App& app, Invocation& call);
void add_release(CLI::App& app, Invocation& call);
void add_release_all(CLI::App& app, Invocation& call);
void add_renew(CLI::App& app, Invocation& call);
void add_run(CLI::App& app, Invocation& call);
void add_serve(CLI::App& app, Invocation& call);
void add_token(CLI::App& app, Invocation& call);
void add_try(CLI::App& app, Invocation& call);
void add_unprotect(CLI::App& app, Invocation& call);
void add_watch(CLI::App& app, Invocation& call);
void add_who(CLI::App& app, Invocation& call);

}  // namespace leasehold::cli
