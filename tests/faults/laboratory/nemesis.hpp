#pragma once

#include <functional>
#include <string>
#include <vector>

#include "faults/laboratory/stage.hpp"

namespace leasehold::faults {

// Something that goes wrong for a while.
struct Fault {
    std::string name;
    std::function<void()> begin;
    Duration lasts{};
    std::function<void()> end;
    // Whether the fault is a transaction on the keys of the load.
    bool is_transaction = false;
};

// All faults that are possible on this stage. A fault of one of several servers chooses the server
// with `which`. The stage outlives the faults.
[[nodiscard]] std::vector<Fault> faults_of(Stage& stage, std::size_t which);

}  // namespace leasehold::faults
