// The long form of the laboratory: see --help.
#include <CLI/CLI.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "faults/laboratory/report.hpp"
#include "faults/laboratory/round.hpp"

namespace {

using namespace leasehold;
using namespace leasehold::faults;

struct Options {
    double minutes = 10;
    std::uint64_t seed = 1;
    std::vector<std::string> stores{"sqlite", "postgres", "mysql", "mariadb", "etcd"};
    std::vector<std::string> faults;
    std::filesystem::path into = "build/soak";
    double round_seconds = 60;
};

// Runs one round on each store, one store after the other, until the time is up. Every fourth round
// sets clocks.
int soak(const Options& options) {
    const auto end =
        SteadyClock::now() + Duration{static_cast<std::int64_t>(options.minutes * 60e6)};
    std::map<std::pair<std::string, Wired>, std::unique_ptr<Ground>> grounds;
    std::vector<Round> rounds;
    for (std::uint64_t number = 0; SteadyClock::now() < end; ++number) {
        const std::string& store = options.stores[number % options.stores.size()];
        const bool clocks = store != "etcd" && number / options.stores.size() % 4 == 3;
        auto& kept = grounds[{store, clocks ? Wired::clocks : Wired::disk}];
        if (!kept) kept = std::make_unique<Ground>(store, clocks ? Wired::clocks : Wired::disk);
        Ground& ground = *kept;
        // The folder is named by its seed, so that results of other runs stay.
        const auto folder =
            options.into / fmt::format("seed-{}-{}", options.seed + number, ground.store());
        std::filesystem::remove_all(folder);
        std::filesystem::create_directories(folder);
        const auto round_ends =
            std::min(end, SteadyClock::now() +
                              Duration{static_cast<std::int64_t>(options.round_seconds * 1e6)});
        rounds.push_back(run_round(
            ground,
            {.seed = options.seed + number,
             .faults = options.faults,
             .go_on = [&](std::size_t, std::size_t) { return SteadyClock::now() < round_ends; },
             .progress =
                 [&](const std::string& line) {
                     const auto left = std::chrono::duration<double>(end - SteadyClock::now());
                     fmt::print("{:6.0f} s left  {}\n", std::max(0.0, left.count()), line);
                     std::fflush(stdout);
                 }},
            folder));
        const Round& round = rounds.back();
        fmt::print("{} with seed {}: {} operations, {} grants, {} unknown, {} violations\n",
                   round.store, round.seed, round.operations, round.grants, round.unknown,
                   round.violations.size());
        fmt::print("{}", some_of(round.violations));
        std::ofstream violations{folder / "violations"};
        for (const std::string& violation : round.violations) violations << violation << '\n';
        if (round.violations.empty()) {
            for (const auto& entry : std::filesystem::directory_iterator{folder}) {
                if (entry.path().extension() == ".jsonl") std::filesystem::remove(entry);
            }
        }
        std::ofstream{options.into / "summary.md"} << table(rounds);
        std::ofstream{options.into / (round.store + ".svg")} << plot(round);
    }
    fmt::print("\n{}\nseed {}; plots and the histories of rounds with violations are in {}\n",
               table(rounds), options.seed, options.into.string());
    return std::ranges::all_of(rounds, [](const Round& round) { return round.violations.empty(); })
               ? 0
               : 1;
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    CLI::App app{
        "Every store under load while one thing after the other fails; all answers are checked.",
        "soak"};
    app.add_option("--minutes", options.minutes, "how long")->capture_default_str();
    app.add_option("--seed", options.seed, "what everything is drawn from")->capture_default_str();
    app.add_option("--store", options.stores,
                   "sqlite, postgres, mysql, mariadb, etcd; may be given again")
        ->capture_default_str();
    app.add_option("--fault", options.faults, "only faults with this in their name");
    app.add_option("--into", options.into, "a folder for plots and histories")
        ->capture_default_str();
    app.add_option("--round", options.round_seconds, "seconds until the next store's turn")
        ->capture_default_str();
    CLI11_PARSE(app, argc, argv);
    try {
        return soak(options);
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 1;
    }
}
