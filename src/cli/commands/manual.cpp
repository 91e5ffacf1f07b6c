#include <CLI/CLI.hpp>

#include <cctype>
#include <iostream>
#include <string>
#include <string_view>

#include "cli/subcommand.hpp"

// Prints the manual page. What it says of commands and options comes from the options themselves.
namespace leasehold::cli {
namespace {

constexpr const char* introduction = R"(.SH NAME
leasehold \- locks that outlive requests, transactions and processes
.SH SYNOPSIS
.B leasehold
.RB [ \-\-store
.IR URL ]
.I COMMAND
.RI [ OPTIONS ]
.SH DESCRIPTION
Takes, shows and ends leases on keys. The store is shared by many programs and hosts: a SQLite file, a PostgreSQL, MySQL
or MariaDB database, an etcd cluster, or a Leasehold server.
.PP
A key is written
.IR TYPE / ID
and split at the first slash. With
.B \-\-type
the whole argument is the id. A name without a slash is a key of the type
.BR dist_lock .
.PP
A duration is a number with a unit, or several of them with the largest unit first: 250ms, 90s, 5m, 1h30m, 1d.
.PP
The lock id is the secret of a lease.
.B try
shows it once. The commands that need it read it from the file that
.B \-\-lock\-id\-file
names, from
.B \-\-lock\-id
(\(aq\-\(aq means standard input), or from the variable
.BR LEASEHOLD_LOCK_ID .
.PP
.B run
renews its lease in the background. If the lease is lost or cannot be confirmed, the command's process group gets SIGTERM,
and then every process that the command started gets SIGKILL before the lease can expire. This also holds while
.B leasehold
itself is stopped or killed.
.PP
Every setting of
.B serve
is an option, a variable
.RB ( LEASEHOLD_DEFAULT_TTL )
and a line of the configuration file
.RB ( "default_ttl = \(dq5m\(dq" ).
The option overrides the variable, and the variable overrides the file.
)";

constexpr const char* conclusion = R"(.SH EXIT STATUS
.TP
.B 0
Done.
.TP
.B 1
Refused: another owner holds the lock, the lease has ended, or the key is busy.
.TP
.B 2
Wrong usage or bad input.
.TP
.B 3
The store failed and changed nothing.
.TP
.B 4
The store failed, and it is unknown whether it made the change.
.TP
.B 5
The server does not allow it: the token is missing or unknown, lacks the role, or may not speak for the owner.
.TP
.B 6
The store answered, but the answer could not be written to standard output.
.PP
.B run
ends with the command's own exit status (128 + N if signal N ended the command), or with one of these:
.TP
.B 120
Refused: another owner holds the lock.
.TP
.B 121
The lease was lost, and the command was stopped.
.TP
.B 122
The store failed before the command was started.
.TP
.B 123
The server does not allow it; the command was not started.
.TP
.BR 126 ", " 127
The command cannot be executed; it was not found.
.PP
.B serve
ends with 0 after it was stopped, 2 for a wrong configuration, and 3 if it cannot open the store or listen on the address.
The first SIGTERM or SIGINT lets the requests under way finish; a second one ends the server at once, with 128 + N.
SIGHUP reads the log level, the tokens and the certificate again.
.SH ENVIRONMENT
.TP
.B LEASEHOLD_STORE
The store's URL, if
.B \-\-store
is not given: sqlite:\fIFILE\fR, postgres://\fIUSER\fR@\fIHOST\fR/\fIDATABASE\fR,
mysql://\fIUSER\fR@\fIHOST\fR/\fIDATABASE\fR, mariadb://\fIUSER\fR@\fIHOST\fR/\fIDATABASE\fR,
etcd://\fIHOST\fR:\fIPORT\fR,\fIHOST\fR:\fIPORT\fR/\fIPREFIX\fR or http://\fIHOST\fR:\fIPORT\fR. Only
.B serve
has a default.
.TP
.B LEASEHOLD_CONFIG
The configuration file of
.BR serve ,
if
.B \-\-config
is not given.
.TP
.BR LEASEHOLD_TOKEN_FILE ", " LEASEHOLD_TOKEN
A file whose first line is the token for a server, or the token itself, if the store's URL has no
.BR token_file .
.TP
.B LEASEHOLD_LOCK_ID
A lock id, if no option gives one.
.TP
.BR LEASEHOLD_TYPE ", " LEASEHOLD_ID ", " LEASEHOLD_FENCE
.B run
sets these for its command: the key, and the fence to store with everything that the command writes.
.TP
.B NO_COLOR
If set, the output has no colours.
.TP
.BR LC_ALL ", " LC_MESSAGES ", " LANG
The first of them that is set chooses the language of answers: Korean for "ko_KR.UTF-8", else English.
.SH FILES
.TP
.I /etc/leasehold/leasehold.toml
The configuration of the service. An example is installed with the documentation.
.TP
.I /etc/leasehold/environment
Variables for the service, for example a store's URL with a password.
.TP
.I /var/lib/leasehold
The service's SQLite file is in this folder. Leasehold creates the file with mode 0600.
)";

// Text as roff takes it.
std::string roff(std::string_view text) {
    std::string result;
    for (const char c : text) {
        if (c == '-') {
            result += "\\-";
        } else if (c == '\\') {
            result += "\\e";
        } else {
            if ((c == '.' || c == '\'') && (result.empty() || result.back() == '\n'))
                result += "\\&";
            result += c;
        }
    }
    return result;
}

std::string bold(std::string_view text) {
    return "\\fB" + roff(text) + "\\fR";
}

std::string italic(std::string_view text) {
    return "\\fI" + roff(text) + "\\fR";
}

std::string sentence(std::string text) {
    if (!text.empty())
        text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
    return roff(text) + ".\n";
}

void print_option(const CLI::Option& option) {
    std::string names;
    for (const std::string& name : option.get_snames()) names += bold("-" + name) + ", ";
    for (const std::string& name : option.get_lnames()) names += bold("--" + name);
    if (!option.nonpositional()) names = italic(option.get_name());
    if (!option.get_type_name().empty()) names += " " + italic(option.get_type_name());
    std::cout << ".TP\n" << names << '\n' << sentence(option.get_description());
}

// What follows the command's name and options on the usage line.
std::string arguments_of(const CLI::App& command) {
    const std::string help = command.help();
    const std::string options = "[OPTIONS]";
    const std::size_t begin = help.find(options) + options.size();
    return help.substr(begin, help.find('\n', begin) - begin);
}

// Examples, and notes that follow them after an empty line.
void print_footer(const std::string& footer) {
    const std::string heading = "Examples:\n";
    const std::size_t end = footer.find("\n\n");
    std::cout << ".PP\nExamples:\n.PP\n.nf\n"
              << roff(std::string_view{footer}.substr(heading.size(), end - heading.size()))
              << "\n.fi\n";
    if (end != std::string::npos) std::cout << ".PP\n" << roff(footer.substr(end + 2)) << '\n';
}

void print_command(const CLI::App& command) {
    std::cout << ".SS " << roff(command.get_name()) << roff(arguments_of(command)) << '\n'
              << sentence(command.get_description());
    std::string group = "Options";
    for (const CLI::Option* option : command.get_options()) {
        if (option->check_lname("help")) continue;
        if (option->get_group() != group) {
            group = option->get_group();
            std::cout << ".PP\n" << roff(group) << ":\n";
        }
        print_option(*option);
    }
    print_footer(command.get_footer());
}

void print_manual(CLI::App& app) {
    std::cout << ".TH LEASEHOLD 1 \"\" \"Leasehold " << version() << "\" \"User Commands\"\n"
              << introduction << ".SH OPTIONS\n";
    for (const CLI::Option* option : app.get_options()) print_option(*option);
    std::cout << ".SH COMMANDS\n";
    for (const CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
        print_command(*command);
    }
    std::cout << conclusion;
}

}  // namespace

void add_manual(CLI::App& app, Invocation& call) {
    Subcommand command{app, "manual", "Print the manual page",
                       "  leasehold manual | man -l -\n"
                       "  leasehold manual > /usr/local/share/man/man1/leasehold.1"};
    command.does(call, [&app] {
        print_manual(app);
        return static_cast<int>(done);
    });
}

}  // namespace leasehold::cli
