#include "lab/simulated_database.hpp"

#include <algorithm>
#include <chrono>

namespace leasehold::lab {
namespace {

// Simulated time passes much faster than real time, so no difference between the two counts as a
// leap.
StoreOptions options_of_simulation() {
    return {.max_clock_leap = std::chrono::hours{24 * 365}};
}

[[noreturn]] void lose_connection(StoreFault::Effect effect) {
    throw StoreFault{effect, StoreFault::Cause::unavailable, "the connection is lost"};
}

}  // namespace

class SimulatedDatabase::SimulatedStore final : public CellStore {
public:
    SimulatedStore(SimulatedDatabase& database, std::function<Time()> clock)
        : CellStore{options_of_simulation()}, tables_{database}, machine_clock_{std::move(clock)} {
        (void)now();
    }

    [[nodiscard]] StoreStatus status() override {
        return {.name = "simulated", .durability = Durability::strong};
    }

protected:
    Begun begin() override {
        if (happens(tables_.troubles_.unreachable)) lose_connection(StoreFault::Effect::none);
        return Begun::writing;
    }

    void load(Work& work) override {
        for (Slot& slot : work.slots) {
            const auto found = tables_.rows_.find(slot.key);
            if (found == tables_.rows_.end()) continue;
            slot.state = Slot::State::ours;
            slot.row = found->second.row;
            slot.shares = found->second.shares;
        }
        for (const LockId& id : work.lock_ids) {
            const auto past = tables_.past_.find(id);
            if (past != tables_.past_.end()) work.past.emplace(id, tables_.history_[past->second]);
        }
        work.reading = read_clock();
    }

    void save_and_commit(Work& work) override {
        if (happens(tables_.troubles_.conflicts)) throw Conflict{};
        if (happens(tables_.troubles_.lost_commits)) lose_connection(StoreFault::Effect::unknown);
        for (const Ended& ended : work.endings) {
            tables_.past_[ended.ending->grant.lock_id] = tables_.history_.size();
            tables_.history_.push_back(ended);
        }
        for (const Slot& slot : work.slots) {
            if (slot.forget) {
                tables_.rows_.erase(slot.key);
            } else if (slot.cell.changed) {
                LockRow row = row_of(slot);
                const bool shared = row.mode == Mode::shared && row.ended == Gone::unknown;
                tables_.rows_[slot.key] = {std::move(row),
                                           shared ? slot.cell.grants : std::vector<Grant>{}};
            }
        }
        tables_.floor_ = std::max(tables_.floor_, work.raise_floor_to);
        if (happens(tables_.troubles_.lost_answers)) lose_connection(StoreFault::Effect::unknown);
    }

    void rollback() noexcept override {}

    std::unordered_map<LockId, LockKey> locate(std::span<const LockId> lock_ids) override {
        std::unordered_map<LockId, LockKey> keys;
        for (const LockId& id : lock_ids) {
            for (const auto& [key, row] : tables_.rows_) {
                const Cell cell = cell_of(row.row, row.shares);
                if (std::ranges::find(cell.grants, id, &Grant::lock_id) != cell.grants.end())
                    keys.emplace(id, key);
            }
            const auto past = tables_.past_.find(id);
            if (past != tables_.past_.end()) keys.emplace(id, tables_.history_[past->second].key);
        }
        return keys;
    }

    OwnedKeys keys_of(const std::string& owner, OwnerScope scope, std::size_t /*most*/) override {
        OwnedKeys owned;
        for (const auto& [key, row] : tables_.rows_) {
            const Cell cell = cell_of(row.row, row.shares);
            const bool any = std::ranges::any_of(cell.grants, [&](const Grant& grant) {
                return owner_matches(grant.owner, owner, scope);
            });
            if (any) owned.keys.push_back(key);
        }
        owned.rows = owned.keys.size();
        return owned;
    }

    std::vector<Candidate> scan(const std::optional<LockKey>&, std::size_t, Time) override {
        return {};  // nothing here is old enough to be forgotten
    }
    std::size_t forget_history(Time, std::size_t) override { return 0; }

    ClockReading read_clock() override { return {machine_clock_(), tables_.floor_}; }
    void raise_floor(Time floor) noexcept override {
        tables_.floor_ = std::max(tables_.floor_, floor);
    }

    // Returns all rows at once: the simulation has no limit on the size of a page.
    std::optional<KeyPlace> place_behind(const KeyPlace&, std::size_t) override { return {}; }
    std::vector<Holder> list(const List&, Time now, const KeyPlace&) override {
        std::vector<Holder> holders;
        for (const auto& [key, row] : tables_.rows_) {
            for (const Grant& grant : cell_of(row.row, row.shares).grants) {
                if (grant.expires_at > now) holders.push_back(to_holder(key, grant));
            }
        }
        return holders;
    }

    std::vector<PastLease> history(const History& request) override {
        std::vector<PastLease> page;
        for (std::size_t i = tables_.history_.size(); i-- > 0 && page.size() < request.limit;) {
            const Ended& ended = tables_.history_[i];
            const auto sequence = static_cast<std::int64_t>(i) + 1;
            if (request.before && sequence >= *request.before) continue;
            if (!request.key || ended.key == *request.key) page.push_back(to_past(ended, sequence));
        }
        return page;
    }

private:
    [[nodiscard]] bool happens(unsigned in_thousand) {
        return in_thousand > 0 && tables_.dice_.in_thousand(in_thousand);
    }

    SimulatedDatabase& tables_;
    const std::function<Time()> machine_clock_;
};

std::unique_ptr<Store> SimulatedDatabase::open(std::function<Time()> clock) {
    return std::make_unique<SimulatedStore>(*this, std::move(clock));
}

}  // namespace leasehold::lab
