#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "contender.hpp"

namespace leasehold::bench {

// What the arguments say.
struct Settings {
    Seconds round{1};  // how long a side runs in each round
    std::size_t rounds = 5;
    Seconds patience{10};                 // how long each round waits for a quiet machine
    std::size_t many_leases = 1'000'000;  // how many are held in the growth and million rows
    std::size_t crowd = 10'000;           // how many are connected in the crowd rows
    Seconds attack{60};                   // how long the hostile rows are attacked
    Seconds hold{600};                    // how long the million rows hold their leases
};

struct Goal {
    enum class Direction { at_least, at_most };
    Direction direction = Direction::at_least;
    double value = 0;

    [[nodiscard]] bool met_by(double ratio) const {
        return direction == Direction::at_least ? ratio >= value : ratio <= value;
    }
};

// A contender, and by how many threads it is used.
struct Side {
    std::string name;
    Contender& contender;
    std::size_t threads = 1;
};

// What a ratio above 1 says of Leasehold's side.
enum class Ratio {
    speed,  // times as fast as the peer
    cost,   // times as expensive as the peer
    p99,    // its p99 latency as a multiple of the peer's
};

struct Spread {
    double median = 0;
    double min = 0;
    double max = 0;
};

// How a side did.
struct Pace {
    double cycles_per_s = 0;
    // Where a server was asked:
    std::optional<double> processor_us{};  // of the server, for a request
    std::optional<double> p99_us{};        // of a request
};

// One line of the report.
struct Row {
    std::string group;
    std::string name;
    std::string leasehold;  // who the two sides are
    std::string peer;
    std::optional<Pace> leasehold_pace;  // medians; none where something else was measured
    std::optional<Pace> peer_pace;
    std::string unit;  // of `value`: "times as fast", "times as dear", "bytes a lease"
    Spread value;
    std::optional<Goal> goal;
    // How much of the processors was in use right after a round, when neither side ran: 0 to 1, the
    // median of the rounds.
    std::optional<double> busy;

    // Others had so much of the machine that the row says nothing about Leasehold.
    [[nodiscard]] bool disturbed() const { return busy && *busy > quiet; }
    // Below this much use by others the machine counts as quiet.
    static constexpr double quiet = 0.15;
};

struct Comparison {
    std::string group;
    std::string name;
    Side leasehold;
    Side peer;
    Ratio ratio = Ratio::speed;
    std::optional<Goal> goal;
};

// Lets both sides run one after the other, round by round, and takes the ratio of each round by
// itself: what disturbs the machine for longer than a round disturbs both sides of a ratio.
// Each round waits a while for others to leave the processors alone. A first, short run of each
// side is not counted. Reports each round on standard error.
[[nodiscard]] Row compare(const Comparison& comparison, const Settings& settings);

[[nodiscard]] Pace pace(const Side& side, Seconds duration);

[[nodiscard]] Spread spread_of(std::vector<double> values);

}  // namespace leasehold::bench
