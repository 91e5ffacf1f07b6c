#include "cli/subcommand.hpp"

#include <leasehold/errors.hpp>
#include <leasehold/open_store.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <utility>

#include "cli/input.hpp"
#include "core/grant.hpp"
#include "core/retry.hpp"

namespace leasehold::cli {
namespace {

// In the order of the help.
constexpr std::array subcommands{
    add_try,   add_check,  add_extend,     add_renew,     add_release,   add_release_all,
    add_who,   add_ls,     add_history,    add_watch,     add_break,     add_knock,
    add_purge, add_doctor, add_protect,    add_unprotect, add_protected, add_run,
    add_serve, add_token,  add_completion, add_manual,
};

constexpr const char* overview_examples = R"(Examples:
  export LEASEHOLD_STORE=sqlite:/var/lib/app/locks.db
  leasehold try Order/1 --owner alice --ttl 10m
  leasehold ls
  leasehold run --wait 30s nightly-report -- ./report.sh

Exit codes: 0 done, 1 refused, 2 wrong usage, 3 the store failed, 4 the store
failed and the effect is unknown, 5 the server does not allow it (see
LEASEHOLD_TOKEN_FILE), 6 the answer could not be written to standard output.
`leasehold COMMAND --help` shows a command's options and examples.)";

// The option of a declaration such as "-n,--limit", as a message names it.
std::string long_name(std::string_view names) {
    const std::size_t at = names.find("--");
    return std::string{at == std::string_view::npos ? names : names.substr(at)};
}

std::int64_t number_from(std::string_view names, const std::string& text) {
    std::int64_t number = 0;
    const char* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, number);
    if (error != std::errc{} || end != last || number < 0) {
        throw CLI::ValidationError(long_name(names), "expected a whole number, got '" + text + "'");
    }
    return number;
}

Duration duration_from(std::string_view names, const std::string& text) {
    const auto duration = parse_duration(text);
    if (!duration) throw CLI::ValidationError(long_name(names), duration.error());
    return *duration;
}

void read_store_option(CLI::App& app, Invocation& call) {
    app.add_option("--store", call.store, "the store's URL; else LEASEHOLD_STORE")
        ->type_name("URL");
}

// Help in 80 columns.
class HelpFormatter : public CLI::Formatter {
public:
    // `rest` ends the usage line.
    explicit HelpFormatter(std::string rest = {}) : rest_{std::move(rest)} {
        column_width(names_width);
        label("Positionals", "Arguments");
    }

    std::string make_usage(const CLI::App* app, std::string name) const override {
        std::string usage = Formatter::make_usage(app, std::move(name));
        if (!rest_.empty()) usage.insert(usage.find_last_not_of('\n') + 1, " " + rest_);
        return usage;
    }

    std::string make_option_opts(const CLI::Option* option) const override {
        return option->get_positional() ? "" : Formatter::make_option_opts(option);
    }
    std::string make_option_desc(const CLI::Option* option) const override {
        return wrapped(option->get_description());
    }
    std::string make_footer(const CLI::App* app) const override { return app->get_footer() + "\n"; }

private:
    static constexpr std::size_t names_width = 28;
    static constexpr std::size_t text_width = 80 - names_width;

    static std::string wrapped(const std::string& text) {
        std::string lines;
        std::size_t width = 0;
        std::istringstream words{text};
        for (std::string word; words >> word;) {
            const bool fits = width + 1 + word.size() <= text_width;
            if (width > 0) lines += fits ? ' ' : '\n';
            width = (width > 0 && fits ? width + 1 : 0) + word.size();
            lines += word;
        }
        return lines;
    }

    std::string rest_;
};

}  // namespace

Subcommand::Subcommand(CLI::App& app, const char* name, const char* summary, const char* examples)
    : command_{*app.add_subcommand(name, summary)} {
    command_.set_help_flag("-h,--help", "show this help");
    command_.footer(std::string{"Examples:\n"} + examples);
    command_.formatter(std::make_shared<HelpFormatter>());
}

CLI::Option* Subcommand::option(const char* names, const char* kind, const char* help,
                                const std::function<void(const std::string&)>& read) {
    const bool positional = *names != '-';
    return command_.add_option_function<std::string>(positional ? kind : names, read, help)
        ->type_name(positional ? "" : kind);
}

Subcommand& Subcommand::flag(const char* names, bool& value, const char* help) {
    command_.add_flag(names, value, help);
    return *this;
}

Subcommand& Subcommand::text(const char* names, const char* kind, std::string& value,
                             const char* help) {
    option(names, kind, help, [&value](const std::string& text) { value = text; });
    return *this;
}

Subcommand& Subcommand::text(const char* names, const char* kind, const char* help,
                             const std::function<void(const std::string&)>& take) {
    option(names, kind, help, take);
    return *this;
}

Subcommand& Subcommand::required_text(const char* names, const char* kind, std::string& value,
                                      const char* help) {
    option(names, kind, help, [&value](const std::string& text) { value = text; })->required();
    return *this;
}

Subcommand& Subcommand::required_texts(const char* kind, std::vector<std::string>& values,
                                       const char* help) {
    command_.add_option(kind, values, help)->type_name("")->required();
    return *this;
}

Subcommand& Subcommand::number(const char* names, const char* kind,
                               std::optional<std::int64_t>& value, const char* help) {
    option(names, kind, help,
           [&value, names](const std::string& text) { value = number_from(names, text); });
    return *this;
}

Subcommand& Subcommand::duration(const char* names, std::optional<Duration>& value,
                                 const char* help) {
    option(names, "DURATION", help,
           [&value, names](const std::string& text) { value = duration_from(names, text); });
    return *this;
}

Subcommand& Subcommand::repeatable(const char* name) {
    command_.get_option(name)->multi_option_policy(CLI::MultiOptionPolicy::Join)->delimiter(',');
    return *this;
}

Subcommand& Subcommand::followed_by(const char* usage) {
    command_.formatter(std::make_shared<HelpFormatter>(usage));
    return *this;
}

Subcommand& Subcommand::group(const char* option, const std::string& heading) {
    command_.get_option(option)->group(heading);
    return *this;
}

Subcommand& Subcommand::store(Invocation& call) {
    read_store_option(command_, call);
    return *this;
}

Subcommand& Subcommand::json(Invocation& call) {
    return flag("--json", call.json, "print the answer as one line of JSON");
}

Subcommand& Subcommand::type(std::string& value) {
    return text("--type", "TYPE", value, "the key's type; the argument is then the whole id");
}

Subcommand& Subcommand::requested_texts(LockOptions& lock,
                                        std::initializer_list<Default> defaults) {
    for_each_field(leasehold::requested_texts, [&](const auto& field) {
        std::string name = "--" + std::string{field.name};
        std::ranges::replace(name, '_', '-');
        std::string help{field.help};
        for (const Default& one : defaults) {
            if (one.field == field.name) help.append(" (").append(one.text).append(")");
        }
        text(name.c_str(), "TEXT", field.of(lock), help.c_str());
    });
    return *this;
}

void Subcommand::does(Invocation& call, std::function<int()> action) {
    command_.callback([&call, action = std::move(action)] { call.exit_code = action(); });
}

void Subcommand::shows(Invocation& call, std::function<int()> action) {
    command_.callback([&call, action = std::move(action)] {
        call.effect = Effect::reads;
        call.exit_code = action();
    });
}

const char* version() noexcept {
    return LEASEHOLD_VERSION;
}

std::unique_ptr<Store> open_shared_store(const Invocation& call) {
    const std::string url = named_store(call);
    if (url.starts_with("memory:")) {
        throw BadRequest{
            "memory: ends with this command, so a lock there keeps nobody out; name a store that "
            "others can see, or a server"};
    }
    return open_store(url);
}

std::unique_ptr<Store> open_shared_store(const Invocation& call, SteadyClock::time_point until,
                                         const std::stop_token& stop) {
    Retry retry{retries::held_lock, until};
    for (;;) {
        try {
            return open_shared_store(call);
        } catch (const StoreFault& fault) {
            if (!may_pass(fault) || !retry.pause(stop)) throw;
        }
    }
}

std::string named_store(const Invocation& call) {
    if (!call.store.empty()) return call.store;
    const char* const url = std::getenv("LEASEHOLD_STORE");
    if (url != nullptr && *url != '\0') return url;
    throw WrongUsage{"which store? give --store URL or set LEASEHOLD_STORE, for instance",
                     {"export LEASEHOLD_STORE=sqlite:/var/lib/app/locks.db",
                      "export LEASEHOLD_STORE=postgres://user@host/database"}};
}

std::string owner_from(Invocation& call, const std::string& option) {
    call.asks_as_user = option.empty();
    return option.empty() ? who_we_are() : option;
}

std::optional<std::size_t> places_from(std::optional<std::int64_t> option) {
    if (!option) return std::nullopt;
    if (*option < 1) {
        throw BadRequest{"--places " + std::to_string(*option) + " is too few; at least 1"};
    }
    return static_cast<std::size_t>(*option);
}

void add_everything(CLI::App& app, Invocation& call) {
    app.name("leasehold");
    app.description("Leasehold: locks for people and programs.");
    app.formatter(std::make_shared<HelpFormatter>());
    app.footer(overview_examples);
    app.set_help_flag("-h,--help", "show this help");
    app.set_version_flag("--version", version(), "show the version");
    app.require_subcommand(1);
    read_store_option(app, call);
    for (const auto add : subcommands) add(app, call);
}

}  // namespace leasehold::cli
