#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "core/cell_store.hpp"
#include "lab/client.hpp"

namespace leasehold::lab {

// How many of a thousand transactions conflict with another, never reach the database, or lose
// their commit on the way to the database or on the way back.
struct Troubles {
    unsigned conflicts = 60;
    unsigned unreachable = 10;
    unsigned lost_commits = 10;
    unsigned lost_answers = 10;
};

// Tables in memory, for any number of stores. Not thread-safe.
class SimulatedDatabase {
public:
    SimulatedDatabase(std::uint64_t seed, Troubles troubles) : dice_{seed}, troubles_{troubles} {}

    // A store like the SQL stores, which reads the time from `clock`. The database outlives it.
    [[nodiscard]] std::unique_ptr<Store> open(std::function<Time()> clock);

    // From now on there are no faults.
    void calm_down() { troubles_ = {0, 0, 0, 0}; }

private:
    class SimulatedStore;
    struct Row {
        LockRow row;
        std::vector<Grant> shares;
    };

    Dice dice_;
    Troubles troubles_;
    std::map<LockKey, Row> rows_;
    std::vector<Ended> history_;
    std::unordered_map<LockId, std::size_t> past_;  // in history_
    Time floor_{};
};

}  // namespace leasehold::lab
