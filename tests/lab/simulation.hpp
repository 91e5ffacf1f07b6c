#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "lab/checker.hpp"

namespace leasehold::lab {

struct SimulationOptions {
    std::uint64_t seed = 1;
    std::size_t operations = 500;
    std::size_t clients = 8;
    std::size_t keys = 4;
    // Of a thousand: requests that never arrive, answers that do not, requests that are carried out
    // after the client has given up.
    unsigned lost_requests = 15;
    unsigned lost_answers = 15;
    unsigned late_requests = 15;
};

struct Recording {
    Operations operations;
    Aftermath aftermath;
};

// Opens a store that reads the time from `clock`.
using OpenStore = std::function<std::unique_ptr<Store>(std::function<Time()> clock)>;

// Clients, a network and a store in simulated time, all from the seed: the same seed gives the same
// run.
[[nodiscard]] Recording simulate(const SimulationOptions& options, const OpenStore& open);

}  // namespace leasehold::lab
