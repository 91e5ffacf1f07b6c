#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "faults/laboratory/nemesis.hpp"
#include "lab/history.hpp"

namespace leasehold::faults {

// A fault as it was, on the recorders' clock.
struct Strike {
    std::string fault;
    lab::Instant began{};
    lab::Instant ended{};
    bool is_transaction = false;
    // Grants acknowledged since the strike before it was over, and until the next began.
    std::size_t grants_before = 0;
    std::size_t grants_after = 0;
    // Of all ways to the store: how long the one that suffered most went without a grant.
    Duration longest_gap{};
    std::size_t operations = 0;  // asked from its begin to the next one's
    std::size_t unknown = 0;     // of these
    std::size_t violations = 0;
};

// Some faults, one after the other, on one store under load, and what the checker says of it.
struct Round {
    std::string store{};
    std::uint64_t seed = 0;
    lab::Instant began{};
    lab::Instant ended{};
    std::size_t operations = 0;
    std::size_t grants = 0;
    std::size_t unknown = 0;
    std::size_t unknown_granted = 0;  // tries without an answer that were carried out
    std::vector<Strike> strikes{};
    std::vector<std::string> violations{};
    std::vector<lab::Instant> granted_at{};  // in order
};

struct RoundOptions {
    std::uint64_t seed = 1;
    // A strike counts only with that many grants before it and after it.
    std::size_t grants_between = 60;
    // By name; a fault whose name contains none of them is left out. Empty: all.
    std::vector<std::string> faults{};
    // Whether to begin another: how many there were, of how many kinds.
    std::function<bool(std::size_t strikes, std::size_t kinds)> go_on{};
    std::function<void(const std::string& line)> progress = [](const std::string&) {};
};

// The recordings are in the folder afterwards.
[[nodiscard]] Round run_round(Ground& ground, const RoundOptions& options,
                              const std::filesystem::path& folder);

}  // namespace leasehold::faults
