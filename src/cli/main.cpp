#include <CLI/CLI.hpp>

#include <algorithm>
#include <vector>

#include "cli/output.hpp"
#include "cli/subcommand.hpp"
#include "cli/usage_errors.hpp"

namespace leasehold::cli {
namespace {

// The name of the subcommand: the first argument that is neither an option nor its value.
std::string subcommand_of(const std::vector<std::string>& arguments) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        if (arguments[i] == "--store")
            ++i;
        else if (!arguments[i].starts_with('-'))
            return arguments[i];
    }
    return {};
}

// Hides from the option parser the command that `run` executes.
void take_command_to_run(std::vector<std::string>& arguments, Invocation& call) {
    if (subcommand_of(arguments) != "run") return;
    const auto dashes = std::ranges::find(arguments, "--");
    if (dashes == arguments.end()) return;
    call.after_dashes.assign(dashes + 1, arguments.end());
    arguments.erase(dashes, arguments.end());
}

bool has_subcommand(CLI::App& app, const std::string& name) {
    return !app.get_subcommands([&](CLI::App* one) { return one->check_name(name); }).empty();
}

int fail(const Invocation& call, const StoreFault& fault) {
    if (call.json)
        print_json(fault);
    else
        complain(described(call, fault));
    if (fault.effect() == StoreFault::Effect::unknown) return effect_unknown;
    return fault.cause() == StoreFault::Cause::not_allowed ? not_allowed : store_failed;
}

bool is_written() {
    const bool written = flush_output();
    if (!written) complain(spoken(phrases::not_written));
    return written;
}

int complain_of_usage(const WrongUsage& wrong, const std::string& command) {
    complain(wrong);
    advise("See leasehold " + (command.empty() ? "" : command + " ") + "--help.");
    return wrong_usage;
}

int run(const std::vector<std::string>& given) {
    Invocation call;
    CLI::App app;
    add_everything(app, call);
    std::vector<std::string> arguments = given;
    take_command_to_run(arguments, call);
    const std::string wanted = subcommand_of(arguments);
    if (!wanted.empty() && !has_subcommand(app, wanted) && given.front() == wanted) {
        return complain_of_usage({unknown_command(app, wanted), {}}, {});
    }
    try {
        std::ranges::reverse(arguments);  // as CLI11 wants it
        app.parse(std::move(arguments));
        return is_written() ? call.exit_code : not_written;
    } catch (const CLI::Success& shown) {
        return app.exit(shown);
    } catch (const CLI::ParseError& error) {
        return complain_of_usage(explained(error, app, given),
                                 has_subcommand(app, wanted) ? wanted : "");
    } catch (const WrongUsage& wrong) {
        complain(wrong);
        return wrong_usage;
    } catch (const BadRequest& error) {
        complain(error.what());
        return wrong_usage;
    } catch (const StoreFault& fault) {
        return fail(call, fault);
    }
}

}  // namespace
}  // namespace leasehold::cli

int main(int argc, char** argv) {
    try {
        return leasehold::cli::run({argv + 1, argv + argc});
    } catch (const std::exception& error) {
        leasehold::cli::complain(error.what());
        return leasehold::cli::store_failed;
    }
}
