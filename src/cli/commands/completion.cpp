#include <leasehold/errors.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <iostream>
#include <set>
#include <sstream>

#include "cli/subcommand.hpp"

// Generates completion from the options themselves, so that the two always agree.
namespace leasehold::cli {
namespace {

bool names_a_file(const CLI::Option& option) {
    return option.get_type_name().starts_with("FILE");
}

// The words an option takes literally, which its kind of value names in small letters:
// "debug|info|warning|error", or `none` in "DURATION|none".
std::vector<std::string> values_of(const CLI::Option& option) {
    std::vector<std::string> values;
    if (names_a_file(option)) return values;
    std::istringstream kinds{option.get_type_name()};
    for (std::string kind; std::getline(kinds, kind, '|');) {
        if (std::ranges::all_of(kind, [](char c) { return c >= 'a' && c <= 'z'; })) {
            values.push_back(kind);
        }
    }
    return values;
}

// Only the user knows its value.
bool takes_any_word(const CLI::Option& option) {
    return option.get_expected_min() > 0 && !names_a_file(option) && values_of(option).empty();
}

std::vector<std::string> option_names(const CLI::App& command) {
    std::vector<std::string> names;
    for (const CLI::Option* option : command.get_options()) {
        for (const std::string& name : option->get_snames()) names.push_back("-" + name);
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
    return names;
}

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text.append(text.empty() ? "" : " ").append(word);
    return text;
}

std::string in_quotes(const std::string& text) {
    std::string result{"'"};
    for (const char c : text) {
        if (c == '\'')
            result += "'\\''";
        else
            result += c;
    }
    return result + "'";
}

std::vector<CLI::App*> commands_of(CLI::App& app) {
    return app.get_subcommands([](CLI::App*) { return true; });
}

std::vector<std::string> names_of(const std::vector<CLI::App*>& commands) {
    std::vector<std::string> names;
    for (const CLI::App* command : commands) names.push_back(command->get_name());
    return names;
}

// Each option that fits, once, as a pattern of bash's `case`: --config|--lock-id-file
std::string options_that(bool (*fit)(const CLI::Option&), const std::vector<CLI::App*>& commands) {
    std::set<std::string> names;
    for (const CLI::App* command : commands) {
        for (const CLI::Option* option : command->get_options()) {
            if (!option->nonpositional() || !fit(*option)) continue;
            names.insert("--" + option->get_lnames().front());
        }
    }
    std::string all;
    for (const std::string& name : names) all.append(all.empty() ? "" : "|").append(name);
    return all;
}

// A case for each option that takes one of a few words.
void print_bash_values(const std::vector<CLI::App*>& commands) {
    std::set<std::string> printed;
    for (const CLI::App* command : commands) {
        for (const CLI::Option* option : command->get_options()) {
            const auto values = values_of(*option);
            if (!option->nonpositional() || values.empty()) continue;
            const std::string& name = option->get_lnames().front();
            if (!printed.insert(name).second) continue;
            std::cout << "        --" << name << ") COMPREPLY=($(compgen -W "
                      << in_quotes(joined(values)) << " -- \"$current\")); return ;;\n";
        }
    }
}

void print_bash(CLI::App& app) {
    const auto commands = commands_of(app);
    std::cout
        << "_leasehold() {\n"
           "    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
           "    local command= i words=\n"
           "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
           "        case ${COMP_WORDS[i]} in\n"
           "            --) [ \"$command\" = run ] || continue\n"
           "                declare -F _command_offset > /dev/null && _command_offset $((i + 1))\n"
           "                return ;;\n"
           "            --store) ((i++)) ;;\n"
           "            -*) ;;\n"
           "            *) [ -n \"$command\" ] || command=${COMP_WORDS[i]} ;;\n"
           "        esac\n"
           "    done\n"
           "    case $before in\n"
           "        "
        << options_that(names_a_file, commands)
        << ") mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
           "            compopt -o filenames 2> /dev/null\n"
           "            return ;;\n"
           "        "
        << options_that(takes_any_word, commands) << ") return ;;\n";
    print_bash_values(commands);
    std::cout << "    esac\n"
                 "    case $command in\n"
              << "        '') words="
              << in_quotes(joined(names_of(commands)) + " " + joined(option_names(app))) << " ;;\n";
    for (const CLI::App* command : commands) {
        std::string words = joined(option_names(*command));
        if (command->get_name() == "completion") words += " bash zsh fish";
        std::cout << "        " << command->get_name() << ") words=" << in_quotes(words) << " ;;\n";
    }
    std::cout << "    esac\n"
                 "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
                 "}\n"
                 "complete -F _leasehold leasehold\n";
}

// A description inside zsh's brackets or after its colon.
std::string zsh_text(const std::string& text) {
    std::string result;
    for (const char c : text) {
        if (c == '[' || c == ']' || c == ':' || c == '\\') result += '\\';
        result += c;
    }
    return result;
}

// How zsh's _arguments names the options.
void print_zsh_options(const CLI::App& command, std::string_view indent) {
    for (const CLI::Option* option : command.get_options()) {
        for (const std::string& name : option->get_lnames()) {
            std::string text = "--" + name + "[" + zsh_text(option->get_description()) + "]";
            if (option->get_expected_min() > 0) {
                const auto values = values_of(*option);
                text += ":" + option->get_type_name() +
                        (names_a_file(*option) ? ":_files"
                         : values.empty()      ? ": "
                                               : ":(" + joined(values) + ")");
            }
            std::cout << indent << in_quotes(text) << " \\\n";
        }
    }
}

std::string_view zsh_arguments(const std::string& command) {
    if (command == "completion") return "'1:shell:(bash zsh fish)'";
    if (command == "run") return "'1:name: ' '*:::command:_leasehold_run'";
    return "'*:argument: '";
}

void print_zsh(CLI::App& app) {
    const auto commands = commands_of(app);
    std::cout << "#compdef leasehold\n"
                 "_leasehold_run() {\n"
                 "    if [[ $words[1] == -- ]]; then shift words; ((CURRENT--)); fi\n"
                 "    _normal -p leasehold\n"
                 "}\n"
                 "_leasehold() {\n"
                 "    local curcontext=$curcontext state line\n"
                 "    local -a subcommands\n"
                 "    subcommands=(\n";
    for (const CLI::App* command : commands) {
        std::cout << "        "
                  << in_quotes(command->get_name() + ":" + zsh_text(command->get_description()))
                  << '\n';
    }
    std::cout << "    )\n"
                 "    _arguments -C \\\n";
    print_zsh_options(app, "        ");
    std::cout << "        '1:command:->command' '*::argument:->argument' && return\n"
                 "    if [[ $state == command ]]; then _describe command subcommands; return; fi\n"
                 "    case $words[1] in\n";
    for (const CLI::App* command : commands) {
        std::cout << "        " << command->get_name() << ") _arguments \\\n";
        print_zsh_options(*command, "            ");
        std::cout << "            " << zsh_arguments(command->get_name()) << " ;;\n";
    }
    std::cout << "    esac\n"
                 "}\n"
                 "_leasehold \"$@\"\n";
}

void print_fish_options(const CLI::App& command, const std::string& when) {
    for (const CLI::Option* option : command.get_options()) {
        if (option->get_lnames().empty()) continue;
        std::cout << "complete -c leasehold -n " << in_quotes(when) << " -l "
                  << option->get_lnames().front();
        for (const std::string& letter : option->get_snames()) std::cout << " -s " << letter;
        if (option->get_expected_min() > 0) {
            std::cout << (names_a_file(*option) ? " -rF" : " -x");
            const auto values = values_of(*option);
            if (!values.empty()) std::cout << " -a " << in_quotes(joined(values));
        }
        std::cout << " -d " << in_quotes(option->get_description()) << '\n';
    }
}

void print_fish(CLI::App& app) {
    const auto commands = commands_of(app);
    const std::string none_yet = "not __fish_seen_subcommand_from " + joined(names_of(commands));
    std::cout << "complete -c leasehold -f\n";
    print_fish_options(app, none_yet);
    for (const CLI::App* command : commands) {
        const std::string& name = command->get_name();
        std::cout << "complete -c leasehold -n " << in_quotes(none_yet) << " -a " << name << " -d "
                  << in_quotes(command->get_description()) << '\n';
        print_fish_options(*command, "__fish_seen_subcommand_from " + name);
    }
    std::cout << "complete -c leasehold -n '__fish_seen_subcommand_from completion' "
                 "-a 'bash zsh fish'\n"
                 "complete -c leasehold -n '__fish_seen_subcommand_from run; "
                 "and contains -- -- (commandline -opc)' "
                 "-a '(complete -C (string replace -r \"^.*? -- \" \"\" -- (commandline -cp)))'\n";
}

}  // namespace

void add_completion(CLI::App& app, Invocation& call) {
    const auto shell = std::make_shared<std::string>();
    Subcommand command{app, "completion", "Print completion for a shell",
                       "  leasehold completion bash > /etc/bash_completion.d/leasehold\n"
                       "  source <(leasehold completion bash)"};
    command.required_text("shell", "SHELL", *shell, "bash, zsh or fish");
    command.does(call, [&app, shell] {
        if (*shell == "bash")
            print_bash(app);
        else if (*shell == "zsh")
            print_zsh(app);
        else if (*shell == "fish")
            print_fish(app);
        else
            throw BadRequest{"there is no completion for '" + *shell + "'; give bash, zsh or fish"};
        return static_cast<int>(done);
    });
}

}  // namespace leasehold::cli
