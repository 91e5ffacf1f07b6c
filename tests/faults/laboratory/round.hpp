#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "faults/laboratory/nemesis.hpp"
#include "lab/history.hpp"

namespace leasehold::faults {

// A fault that happened, with its times on the recorders' clock.
struct Strike {
    std::string fault;
    lab::Instant began{};
    lab::Instant ended{};
    bool is_transaction = false;
    // The grants acknowledged between the end of the previous strike and this one, and between this
    // one and the next.
    std::size_t grants_before = 0;
    std::size_t grants_after = 0;
    // The longest time without a grant, on the path to the store that suffered most.
    Duration longest_gap{};
    std::size_t operations = 0;  // called between the beginning of this strike and of the next
    std::size_t unknown = 0;     // of these, the ones without a known outcome
    std::size_t violations = 0;
};

// Several faults, one after the other, on one store under load, and what the checker found.
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
    // A strike counts only if there are this many grants before it and after it.
    std::size_t grants_between = 60;
    // Runs only faults whose name contains one of these texts. Empty: all faults.
    std::vector<std::string> faults{};
    // Whether to begin another strike, given the number of strikes and of kinds of faults so far.
    std::function<bool(std::size_t strikes, std::size_t kinds)> go_on{};
    std::function<void(const std::string& line)> progress = [](const std::string&) {};
};

// The recordings are in the folder afterwards.
[[nodiscard]] Round run_round(Ground& ground, const RoundOptions& options,
                              const std::filesystem::path& folder);

}  // namespace leasehold::faults
