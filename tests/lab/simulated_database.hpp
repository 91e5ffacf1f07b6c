#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "core/cell_store.hpp"
#include "lab/client.hpp"

namespace leasehold::lab {

// Of a thousand transactions: the ones that conflict with another, the ones that never reach the
// database, those whose commit is lost on the way there, and on the way back.
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

    // A store as the SQL ones are, with the time of `clock`. The database outlives it.
    [[nodiscard]] std::unique_ptr<Store> open(std::function<Time()> clock);

    // From now on nothing goes wrong.
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
