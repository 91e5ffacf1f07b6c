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
    // Each server has a batcher and a store of its own. Without servers, requests go to the store
    // one by one.
    std::size_t servers = 0;
    // Of a thousand requests: how many never arrive, how many answers never arrive, and how many
    // requests are carried out after the client has given up.
    unsigned lost_requests = 15;
    unsigned lost_answers = 15;
    unsigned late_requests = 15;
    // How many of a thousand batches crash their server.
    unsigned deadly_batches = 10;
};

struct Recording {
    Operations operations;
    Aftermath aftermath;
};

// Opens a store that reads the time from `clock`. Called once for each server.
using OpenStore = std::function<std::unique_ptr<Store>(std::function<Time()> clock)>;

// Clients, a network, servers and a store in simulated time. Everything follows from the seed: the
// same seed gives the same run. `before_the_end` is called when no request is under way, before the
// store is asked what it remembers.
[[nodiscard]] Recording simulate(
    const SimulationOptions& options, const OpenStore& open,
    const std::function<void()>& before_the_end = [] {});

// Several servers on one simulated database with many faults.
[[nodiscard]] Recording simulate_servers(SimulationOptions options);

}  // namespace leasehold::lab
