// leasehold_compare: Leasehold beside what it could be replaced by. See README.md.
#include <sys/vfs.h>

#include <linux/magic.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "groups.hpp"

namespace leasehold::bench {
namespace {

struct Group {
    std::string_view name;
    std::function<void(const Settings&, Report&)> run;  // empty: not built
};

const std::vector<Group>& groups() {
    static const std::vector<Group> all{
        {"memory", run_memory},
#if defined(LEASEHOLD_WITH_SQLITE)
        {"sqlite", run_sqlite},
#else
        {"sqlite", {}},
#endif
#if defined(LEASEHOLD_WITH_POSTGRES)
        {"postgres", run_postgres},
#else
        {"postgres", {}},
#endif
#if defined(LEASEHOLD_WITH_MARIADB)
        {"mysql", run_mysql},
        {"mariadb", run_mariadb},
#else
        {"mysql", {}},
        {"mariadb", {}},
#endif
#if defined(LEASEHOLD_WITH_HTTP)
        {"server-memory", run_server_memory},
        {"crowd", run_crowd},
        {"hostile", run_hostile},
        {"million", run_million},
#else
        {"server-memory", {}},
        {"crowd", {}},
        {"hostile", {}},
        {"million", {}},
#endif
#if defined(LEASEHOLD_WITH_HTTP) && defined(LEASEHOLD_WITH_SQLITE)
        {"server-sqlite", run_server_sqlite},
#else
        {"server-sqlite", {}},
#endif
#if defined(LEASEHOLD_WITH_HTTP) && defined(LEASEHOLD_WITH_POSTGRES)
        {"server-postgres", run_server_postgres},
#else
        {"server-postgres", {}},
#endif
        {"protect", run_protect},
        {"waiting", run_waiting},
        {"holding", run_holding},
#if defined(LEASEHOLD_WITH_HTTP) && defined(LEASEHOLD_WITH_POSTGRES) && \
    defined(LEASEHOLD_WITH_MARIADB)
        {"distance", run_distance},
#else
        {"distance", {}},
#endif
        {"growth", run_growth},
    };
    return all;
}

constexpr const char* usage =
    R"(usage: leasehold_compare [--json] [--seconds S] [--rounds R] [--patience S]
                         [--leases N] [--crowd N] [--attack S] [--hold S] [--keep FILE] [group ...]

Measures lock cycles (try, check, extend, release) of Leasehold and of a peer, side by side.
Groups: memory sqlite postgres mysql mariadb server-memory server-sqlite server-postgres
crowd hostile million protect waiting holding distance growth; without any, all of them.

  --seconds S   how long a side runs in each round (1)
  --rounds R    how many rounds; the ratio is the median of the rounds' ratios (5)
  --patience S  how long each round waits for others to leave the processors alone (10)
  --leases N    how many leases the growth and million rows hold (1000000)
  --crowd N     how many connections the crowd rows have (10000)
  --attack S    how long the servers of the hostile rows are attacked (60)
  --hold S      how long the million rows hold their leases, on each store (600)
  --json        one JSON object a line instead of the table
  --keep FILE   also appends the rows to FILE, as JSON
  --help        this text

Files and servers are made under $TMPDIR or /tmp and removed at the end. Progress goes to standard
error. No result is an error; the exit code is 1 only where something could not be measured.
)";

struct UsageError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

template <class Number>
Number positive(std::string_view option, std::string_view text) {
    Number number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size() || !(number > 0)) {
        throw UsageError{std::string{option} + " takes a number above 0, not '" +
                         std::string{text} + "'"};
    }
    return number;
}

struct Arguments {
    Settings settings;
    Report::Format format = Report::Format::table;
    bool help = false;
    std::string kept{};                // the file that keeps the rows; empty: none
    std::vector<const Group*> groups;  // none: all
};

const Group& group_named(std::string_view name) {
    const auto found = std::ranges::find(groups(), name, &Group::name);
    if (found == groups().end()) throw UsageError{"there is no group '" + std::string{name} + "'"};
    if (!found->run) {
        throw UsageError{"what the group " + std::string{name} +
                         " needs was not built; see the CMake options"};
    }
    return *found;
}

Arguments parse(std::span<char*> words) {
    Arguments arguments;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string_view word = words[i];
        const auto value = [&]() -> std::string_view {
            if (i + 1 == words.size()) throw UsageError{std::string{word} + " needs a value"};
            return words[++i];
        };
        Settings& settings = arguments.settings;
        if (word == "--help") {
            arguments.help = true;
        } else if (word == "--json") {
            arguments.format = Report::Format::json;
        } else if (word == "--seconds") {
            settings.round = std::chrono::duration<double>{positive<double>(word, value())};
        } else if (word == "--rounds") {
            settings.rounds = positive<std::size_t>(word, value());
        } else if (word == "--patience") {
            settings.patience = std::chrono::duration<double>{positive<double>(word, value())};
        } else if (word == "--leases") {
            settings.many_leases = positive<std::size_t>(word, value());
        } else if (word == "--crowd") {
            settings.crowd = positive<std::size_t>(word, value());
        } else if (word == "--attack") {
            settings.attack = std::chrono::duration<double>{positive<double>(word, value())};
        } else if (word == "--hold") {
            settings.hold = std::chrono::duration<double>{positive<double>(word, value())};
        } else if (word == "--keep") {
            arguments.kept = value();
        } else if (word.starts_with('-')) {
            throw UsageError{"there is no option '" + std::string{word} + "'"};
        } else {
            arguments.groups.push_back(&group_named(word));
        }
    }
    return arguments;
}

std::vector<const Group*> all_built() {
    std::vector<const Group*> built;
    for (const Group& group : groups()) {
        if (group.run) {
            built.push_back(&group);
        } else {
            std::fprintf(stderr, "%s: not built, left out\n", std::string{group.name}.c_str());
        }
    }
    return built;
}

// There a flush costs nothing, and every durable row would say too much.
void warn_of_memory_disk() {
    const std::string folder = std::filesystem::temp_directory_path();
    struct statfs disk{};
    if (::statfs(folder.c_str(), &disk) == 0 && disk.f_type == TMPFS_MAGIC) {
        std::fprintf(stderr,
                     "warning: %s is not on a disk; set TMPDIR to a folder that is, or the durable "
                     "rows mean nothing\n",
                     folder.c_str());
    }
}

int run(std::span<char*> words) {
    const Arguments arguments = parse(words);
    if (arguments.help) {
        std::fputs(usage, stdout);
        return 0;
    }
    warn_of_memory_disk();
    Report report{arguments.format, arguments.settings, arguments.kept};
    int exit_code = 0;
    for (const Group* group : arguments.groups.empty() ? all_built() : arguments.groups) {
        try {
            group->run(arguments.settings, report);
        } catch (const std::exception& error) {
            std::fprintf(stderr, "%s: could not be measured: %s\n",
                         std::string{group->name}.c_str(), error.what());
            exit_code = 1;
        }
    }
    return exit_code;
}

}  // namespace
}  // namespace leasehold::bench

int main(int count, char** words) {
    try {
        return leasehold::bench::run({words + 1, static_cast<std::size_t>(count - 1)});
    } catch (const std::exception& error) {
        std::fprintf(stderr, "leasehold_compare: %s\n(--help shows the usage)\n", error.what());
        return 2;
    }
}
