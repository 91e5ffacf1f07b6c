#pragma once

#include <chrono>
#include <limits>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include <leasehold/store.hpp>

#include "core/plan.hpp"
#include "core/store_clock.hpp"
#include "core/work.hpp"

namespace leasehold {

// A store that keeps cells in a transactional database. It brings a batch's cells, lets the rules
// decide, and writes back what changed. A database offers the protected functions; each may throw
// StoreFault, or Conflict where the transaction has to be done again.
class CellStore : public Store {
public:
    explicit CellStore(const StoreOptions& options) : CellStore{options, Bounds{}} {}

    void apply(std::span<const Request> requests, std::span<Outcome> outcomes) final;
    [[nodiscard]] std::size_t concurrency() const noexcept final { return 1; }

protected:
    struct Conflict {};
    // What save_and_commit() was given does not fit one transaction; nothing was done.
    struct TooMuch {};

    struct Bounds {
        // How often a transaction is done again after a conflict before its requests go one by one.
        int attempts = 3;
        // How many keys and lock ids the requests of one transaction may name; a single request may
        // name more.
        std::size_t names = std::numeric_limits<std::size_t>::max();
    };
    CellStore(const StoreOptions& options, Bounds bounds);

    enum class Begun { writing, reading_only };

    struct Candidate {
        LockKey key;
        bool dead = false;  // its expiry lies before the moment asked for
    };

    // May answer some of these requests in one step of its own instead of load and save: each has a
    // key that no other of them has, and most find it as they expect (a try: free; the others:
    // their own exclusive lease, alive). What is left unanswered goes the long way. A Conflict
    // leaves all. False where it did not even try.
    virtual bool shortcut(std::span<const Request> requests, std::span<const std::size_t> which,
                          std::span<Outcome> outcomes);

    // Begins a transaction that may write. `reading_only` where somebody else is writing.
    virtual Begun begin() = 0;
    // Reads everything and, in a transaction that is writing, locks what is to be changed, without
    // waiting; what somebody else has locked is `blocked`. Reads the clock last.
    virtual void load(Work& work) = 0;
    // Writes changed and forgotten slots and the endings, and commits.
    virtual void save_and_commit(Work& work) = 0;
    // Ends a transaction that changed nothing, and whose answers count: a Conflict where what was
    // loaded was not so.
    virtual void end_unchanged(Work& work);
    // Gives a transaction up.
    virtual void rollback() noexcept = 0;

    // Which keys these lock ids belong or belonged to.
    virtual Located locate(std::span<const LockId> lock_ids) = 0;
    // Where an owner has leases, perhaps expired.
    virtual std::vector<LockKey> keys_of(const std::string& owner, OwnerScope scope) = 0;
    // Some keys in their order, from `after` on.
    virtual std::vector<Candidate> scan(const std::optional<LockKey>& after, std::size_t limit,
                                        Time moment) = 0;
    virtual ClockReading read_clock() = 0;
    // Keeps a floor for processes that come later, if it can be done at once.
    virtual void raise_floor(Time floor) noexcept = 0;
    virtual std::vector<Holder> list(const List& request, Time now) = 0;
    virtual std::vector<PastLease> history(const History& request, Time oldest) = 0;
    virtual std::size_t forget_history(Time before, std::size_t limit) = 0;

    // The time to decide by, now. A store calls it when it is opened, to know the floor.
    Time now();

    // After a shortcut that was given `floor` and used times up to `latest`.
    enum class Changed { no, yes };
    void note_shortcut(Time floor, Time latest, SteadyClock::time_point asked, Changed changed);

    const StoreOptions options_;
    StoreClock clock_;

private:
    using Indices = std::vector<std::size_t>;
    static constexpr std::chrono::minutes housekeeping_interval{1};

    struct Batch {
        std::span<const Request> requests;
        std::span<Outcome> outcomes;

        [[nodiscard]] bool answered(std::size_t index) const {
            return !std::holds_alternative<std::monostate>(outcomes[index]);
        }
    };

    void apply_in_runs(Batch batch);
    void apply_to_cells(Batch batch, Indices which);
    // What a store answers in one step of its own, and then what needs no change of any cell;
    // leaves the others.
    void take_shortcut(Batch batch, Indices& which);

    enum class Attempted { done, met_conflicts, too_much };
    [[nodiscard]] Attempted attempt(Batch batch, const Indices& which, int times);
    void ask_again_what_stood_in_the_way(Batch batch, const Indices& which);
    // None keeps the others where one does not get through.
    void apply_one_by_one(Batch batch, const Indices& which);
    // In several transactions what is too much for one.
    void apply_in_parts(Batch batch, const Indices& which);
    [[nodiscard]] Outcome release_key_by_key(const ReleaseAll& all);

    // In one transaction. By reading only: answers what needs no change of any cell, leaves the
    // others unanswered.
    enum class Way { read_only, full };
    void transact(Batch batch, const Indices& which, Way way);
    [[nodiscard]] Plan planned(std::span<const Request> requests, const Indices& which);
    [[nodiscard]] std::vector<Outcome> decide(std::span<const Request> requests, const Plan& plan,
                                              Work& work, Time at, Way way) const;
    enum class Locking { no, yes };
    [[nodiscard]] Time load_and_observe(Work& work, Locking locking);
    [[nodiscard]] Time observe(const ClockReading& reading, SteadyClock::time_point asked);
    void keep_floor(Time now);
    [[nodiscard]] Outcome answer(const List& request);
    [[nodiscard]] Outcome answer(const History& request);
    [[nodiscard]] Outcome answer(const Purge& request);
    [[nodiscard]] bool keeps_history() const {
        return options_.history == StoreOptions::KeepHistory::on;
    }
    // How many of them were dead since `moment` and are forgotten now.
    std::size_t forget_dead(const std::vector<Candidate>& candidates, Time moment);
    // In several transactions what is too much for one, but for a row that is that by itself.
    std::size_t forget_dead_in_parts(Work work, Time moment);
    std::size_t forget_dead(Work work, Time moment);
    void keep_house();

    const Bounds bounds_;
    Time floor_raised_at_{};
    SteadyClock::time_point clock_read_at_{};
    std::optional<LockKey> purge_after_;
    SteadyClock::time_point next_housekeeping_;
};

// Throws StoreFault where the options ask for a durability that the store does not have.
void require_durability(const StoreOptions& options, const StoreStatus& status);

}  // namespace leasehold
