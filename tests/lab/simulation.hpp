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
    // Each with a batcher and a store of its own. Without any, requests go to the store one by one.
    std::size_t servers = 0;
    // Of a thousand: requests that never arrive, answers that do not, requests that are carried out
    // after the client has given up.
    unsigned lost_requests = 15;
    unsigned lost_answers = 15;
    unsigned late_requests = 15;
    // Of a thousand batches, the number that kill their server.
    unsigned deadly_batches = 10;
};

struct Recording {
    Operations operations;
    Aftermath aftermath;
};

// Opens a store that reads the time from `clock`; again for each server.
using OpenStore = std::function<std::unique_ptr<Store>(std::function<Time()> clock)>;

// Clients, a network, servers and a store in simulated time, all from the seed: the same seed gives
// the same run. `before_the_end` is called when all is quiet, before the store is asked what it
// remembers.
[[nodiscard]] Recording simulate(
    const SimulationOptions& options, const OpenStore& open,
    const std::function<void()>& before_the_end = [] {});

// Several servers on one simulated database in which much goes wrong.
[[nodiscard]] Recording simulate_servers(SimulationOptions options);

}  // namespace leasehold::lab
