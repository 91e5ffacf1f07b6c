#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include <regex>
#include <set>
#include <sstream>

#include "cli/subcommand.hpp"
#include "command/host.hpp"

// The manuals and the completion name exactly the options there are.
namespace leasehold::command {
namespace {

using Names = std::set<std::string>;

class Options : public ::testing::Test {
protected:
    Options() { cli::add_everything(app_, call_); }

    std::vector<CLI::App*> commands() {
        return app_.get_subcommands([](CLI::App*) { return true; });
    }
    static Names of(const CLI::App& command) {
        Names names;
        for (const CLI::Option* option : command.get_options()) {
            for (const std::string& name : option->get_lnames()) names.insert("--" + name);
        }
        return names;
    }

private:
    cli::Invocation call_;
    CLI::App app_;
};

Names options_in(const std::string& text) {
    Names names;
    const std::regex option{"--[a-z]+(-[a-z]+)*"};
    for (std::sregex_iterator found{text.begin(), text.end(), option}, end; found != end; ++found) {
        names.insert(found->str());
    }
    return names;
}

std::string unescaped(std::string text) {
    for (std::size_t at = 0; (at = text.find("\\-", at)) != std::string::npos; ++at) {
        text.erase(at, 1);
    }
    return text;
}

// The lines of a section of the manual that begin an entry.
std::string entries_of(const std::string& section) {
    std::string entries;
    std::istringstream lines{section};
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("\\fB")) entries += line + '\n';
    }
    return entries;
}

// Of the manual, the part about one command.
std::string section_of(const std::string& manual, const std::string& command) {
    const std::regex heading{"\n\\.SS " + command + "( |\n|\\\\)"};
    std::smatch found;
    if (!std::regex_search(manual, found, heading)) return {};
    const auto begin = static_cast<std::size_t>(found.position()) + 1;
    return manual.substr(begin, manual.find("\n.S", begin) - begin);
}

TEST_F(Options, AreInTheManualPageEachWithItsCommand) {
    const std::string manual = unescaped(leasehold({"manual"}).output);
    for (const CLI::App* command : commands()) {
        const std::string section = section_of(manual, command->get_name());
        ASSERT_FALSE(section.empty()) << command->get_name();
        Names real = of(*command);
        real.erase("--help");
        EXPECT_EQ(options_in(entries_of(section)), real) << command->get_name();
    }
}

TEST_F(Options, AreAllInTheReference) {
    const std::string reference = content_of(LEASEHOLD_SOURCES "/docs/command.md") +
                                  content_of(LEASEHOLD_SOURCES "/docs/server.md");
    const Names known = options_in(reference);
    Names real;
    for (const CLI::App* command : commands()) {
        real.merge(of(*command));
        EXPECT_NE(reference.find(command->get_name()), std::string::npos) << command->get_name();
    }
    for (const std::string& option : real) EXPECT_TRUE(known.contains(option)) << option;
    // What an example gives to a command that is run, not to leasehold.
    const Names of_others{"--all"};
    for (const std::string& option : known) {
        EXPECT_TRUE(real.contains(option) || of_others.contains(option)) << option;
    }
}

TEST_F(Options, AreCompletedInEveryShell) {
    for (const char* const shell : {"bash", "zsh", "fish"}) {
        const auto completion = leasehold({"completion", shell});
        EXPECT_EQ(completion.exit_code, 0);
        for (const CLI::App* command : commands()) {
            EXPECT_NE(completion.output.find(command->get_name()), std::string::npos);
            for (const std::string& option : of(*command)) {
                const std::string name = shell == std::string{"fish"} ? option.substr(2) : option;
                EXPECT_NE(completion.output.find(name), std::string::npos) << shell << name;
            }
        }
    }
    EXPECT_EQ(leasehold({"completion", "tcsh"}).exit_code, 2);
}

TEST_F(Options, AreShownWithExamplesByEveryCommand) {
    for (const CLI::App* command : commands()) {
        const auto help = leasehold({command->get_name(), "--help"});
        EXPECT_EQ(help.exit_code, 0);
        EXPECT_NE(help.output.find("Examples:\n  "), std::string::npos) << help.output;
        EXPECT_EQ(leasehold({command->get_name(), "--nonsense"}).exit_code, 2);
    }
}

TEST_F(Options, FitOnATerminalOfEightyColumns) {
    std::string help = leasehold({"--help"}).output;
    for (const CLI::App* command : commands()) {
        help += leasehold({command->get_name(), "--help"}).output;
    }
    std::istringstream lines{help};
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
}

}  // namespace
}  // namespace leasehold::command
