#include <CLI/CLI.hpp>

#include <algorithm>
#include <iostream>
#include <vector>

#include "cli/output.hpp"
#include "cli/subcommand.hpp"

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

// What `run` is to execute is none of the option parser's business.
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
    const bool unknown = fault.effect() == StoreFault::Effect::unknown;
    if (call.json)
        print_json(fault);
    else
        complain((unknown ? "the effect is unknown: " : "nothing was changed: ") +
                 std::string{fault.what()});
    if (unknown) return effect_unknown;
    return fault.cause() == StoreFault::Cause::not_allowed ? not_allowed : store_failed;
}

bool written() {
    std::cout.flush();
    if (!std::cout) complain("the answer could not be written to standard output");
    return static_cast<bool>(std::cout);
}

int run(std::vector<std::string> arguments) {
    Invocation call;
    CLI::App app;
    add_everything(app, call);
    take_command_to_run(arguments, call);
    const std::string wanted = subcommand_of(arguments);
    if (!wanted.empty() && !has_subcommand(app, wanted)) {
        complain("there is no command '" + wanted + "'; see leasehold --help");
        return wrong_usage;
    }
    try {
        std::ranges::reverse(arguments);  // as CLI11 wants it
        app.parse(std::move(arguments));
        return written() ? call.exit_code : not_written;
    } catch (const CLI::Success& shown) {
        return app.exit(shown);
    } catch (const CLI::ParseError& error) {
        complain(error.what());
        std::cerr << "See leasehold " << (wanted.empty() ? "" : wanted + " ") << "--help.\n";
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
