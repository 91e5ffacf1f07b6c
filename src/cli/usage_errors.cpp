#include "cli/usage_errors.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>

#include "cli/suggestion.hpp"
#include "store_url.hpp"

namespace leasehold::cli {
namespace {

void add_option_names(const CLI::App& app, std::vector<std::string>& names) {
    for (const CLI::Option* option : app.get_options()) {
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
}

std::string unknown_option(const CLI::App& command, const std::string& argument) {
    const std::string name = argument.substr(0, argument.find('='));
    std::vector<std::string> names;
    add_option_names(command, names);
    return "there is no option '" + name + "'" + suggestion(name, names);
}

// The arguments that the parser found no place for, in the order of the command line.
std::vector<std::string> left_over(const CLI::App& app, const std::vector<std::string>& arguments) {
    std::vector<std::string> unplaced = app.remaining(true);
    std::vector<std::string> in_order;
    for (const std::string& argument : arguments) {
        const auto found = std::ranges::find(unplaced, argument);
        if (found == unplaced.end()) continue;
        unplaced.erase(found);
        in_order.push_back(argument);
    }
    return in_order;
}

// `run NAME echo hi`: the command line with the two dashes that are missing. They belong before the
// first word that has no place. An equal word before it is `run` itself or the name of the lock.
WrongUsage with_dashes(const CLI::App& run, const std::vector<std::string>& arguments,
                       const std::string& first) {
    auto dashes = arguments.begin();
    for (const std::string& placed : {run.get_name(), run.get_option("NAME")->as<std::string>()}) {
        dashes = std::ranges::next(std::ranges::find(dashes, arguments.end(), placed), 1,
                                   arguments.end());
    }
    dashes = std::ranges::find(dashes, arguments.end(), first);
    std::string line = "leasehold";
    for (auto argument = arguments.begin(); argument != arguments.end(); ++argument) {
        if (argument == dashes) line += " --";
        line += " " + without_secrets(*argument);
    }
    return {"write `--` between the options and the command to run:", {line}};
}

}  // namespace

std::string unknown_command(const CLI::App& app, const std::string& name) {
    std::vector<std::string> names;
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
        names.push_back(command->get_name());
    }
    return "there is no command '" + without_secrets(name) + "'" + suggestion(name, names);
}

WrongUsage explained(const CLI::ParseError& error, const CLI::App& app,
                     const std::vector<std::string>& arguments) {
    const std::vector<std::string> extra = left_over(app, arguments);
    if (extra.empty()) return {error.what(), {}};
    const auto chosen = app.get_subcommands();
    const CLI::App& command = chosen.empty() ? app : *chosen.front();
    const std::string& first = extra.front();
    if (!first.starts_with('-') && command.get_name() == "run" &&
        std::ranges::find(arguments, "--") == arguments.end()) {
        return with_dashes(command, arguments, first);
    }
    const auto option =
        std::ranges::find_if(extra, [](const auto& word) { return word.starts_with('-'); });
    if (option != extra.end()) return {unknown_option(command, *option), {}};
    return {"'" + without_secrets(first) + "' is one argument too many", {}};
}

}  // namespace leasehold::cli
