#pragma once

#include <functional>
#include <string>
#include <vector>

#include "faults/laboratory/stage.hpp"

namespace leasehold::faults {

// Something that goes wrong, and that is over after a while.
struct Fault {
    std::string name;
    std::function<void()> begin;
    Duration lasts{};
    std::function<void()> end;
    // It is a transaction on the keys of the load.
    bool is_transaction = false;
};

// All that can go wrong on this stage. What concerns one of several servers draws one by `which`.
// The stage outlives them.
[[nodiscard]] std::vector<Fault> faults_of(Stage& stage, std::size_t which);

}  // namespace leasehold::faults
