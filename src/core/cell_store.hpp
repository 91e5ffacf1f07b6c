#pragma once

#include <chrono>
#include <compare>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <leasehold/store.hpp>

#include "core/plan.hpp"
#include "core/retry.hpp"
#include "core/store_clock.hpp"
#include "core/work.hpp"

namespace leasehold {

// A place in the order of the keys. Another program may have written a row there whose key is not
// valid.
struct KeyPlace {
    std::string type{};
    std::string id{};
    auto operator<=>(const KeyPlace&) const = default;
};

// The keys on which an owner has leases.
struct OwnedKeys {
    std::vector<LockKey> keys{};  // sorted and different
    std::size_t rows = 0;         // that were looked at, also of leases that have ended
};

// A store that keeps cells in a transactional database. It answers a batch in these steps:
//   1. The batch is cut into runs: requests that work on cells share a transaction, up to
//      Bounds::lookups; a list, a history or a purge between them is answered by itself.
//   2. shortcut() answers simple requests of a run in one statement each. The requests it leaves
//      are tried with reading only, because most of them are refused.
//   3. For the rest a transaction begins. locate() finds the keys of lock ids, the plan says which
//      cells are needed, and load() reads and locks them in the order of their keys, then the
//      clock.
//   4. The rules decide every request, in order, on the loaded cells.
//   5. save_and_commit() writes the changed cells and the endings. Only then are requests answered.
//   6. After a Conflict the transaction is tried again (Bounds::conflict); then its requests go one
//      by one, and one that still meets conflicts is busy. After TooMuch the run is split in
//      halves. After a FaultOfOneRequest its requests go one by one, too: only one gets the fault.
//      A release_all of too many leases is answered in step 3 and left out of the transaction.
//   7. A request that only another transaction blocked is tried once more before it is refused.
// A database implements the protected functions. Each may throw StoreFault, or Conflict if the
// transaction has to be tried again.
class CellStore : public Store {
public:
    explicit CellStore(const StoreOptions& options) : CellStore{options, Bounds{}} {}

    void apply(std::span<const Request> requests, std::span<Outcome> outcomes) final;
    // Steps 1 and 2 without the reading, for as many requests as one statement of each kind takes.
    void apply_first(std::span<const Request> requests, std::span<Outcome> outcomes) final;
    // The other steps.
    void apply_rest(std::span<const Request> requests, std::span<Outcome> outcomes) final;
    [[nodiscard]] std::size_t concurrency() const noexcept final { return 1; }
    [[nodiscard]] bool keep_house() noexcept final;
    // What the store said last by set_status().
    [[nodiscard]] StoreStatus status() override;

protected:
    struct Conflict {};
    // Thrown by save_and_commit(): the work does not fit one transaction, and nothing was done.
    struct TooMuch {};

    struct Bounds {
        // How often a transaction is tried before its requests go one by one.
        RetryPolicy conflict = retries::conflict;
        // The number of keys and lock ids that one transaction looks up. A single request may need
        // more.
        std::size_t lookups = std::numeric_limits<std::size_t>::max();
    };
    // Stores that are connections to one database share the clock. Without one, the store has its
    // own.
    CellStore(const StoreOptions& options, Bounds bounds, std::shared_ptr<StoreClock> clock = {});

    enum class Begun { writing, reading_only };

    struct Candidate {
        LockKey key;
        bool dead = false;  // its expiry lies before the moment asked for
    };

    // May answer some of these requests in one statement instead of load and save. Each has a key
    // of its own, and most find the key as they expect: a try finds it free, the others find their
    // own exclusive lease alive. Requests left unanswered take the usual steps; after a Conflict
    // all of them do. False if nothing was tried.
    virtual bool shortcut(std::span<const Request> requests, std::span<const std::size_t> which,
                          std::span<Outcome> outcomes);

    // Begins a transaction that may write. `reading_only` if another process is writing.
    virtual Begun begin() = 0;
    // Reads all slots and, in a transaction that writes, locks those to be changed, without
    // waiting; a slot that another transaction has locked is `blocked`. Reads the clock last.
    virtual void load(Work& work) = 0;
    // Writes changed and forgotten slots and the endings, and commits.
    virtual void save_and_commit(Work& work) = 0;
    // Ends a transaction that changed nothing. Throws Conflict if the loaded slots were not the
    // truth, so that the answers must not be given.
    virtual void end_unchanged(Work& work);
    // Abandons the transaction, if there is one.
    virtual void rollback() noexcept = 0;

    // Which keys these lock ids belong or belonged to.
    virtual Located locate(std::span<const LockId> lock_ids) = 0;
    // The keys on which an owner has leases, perhaps expired ones. Looks at a few times `most` rows
    // at most. If it looked at more than `most`, there may be more keys.
    virtual OwnedKeys keys_of(const std::string& owner, OwnerScope scope, std::size_t most) = 0;
    // The next keys after `after`, in their order.
    virtual std::vector<Candidate> scan(const std::optional<LockKey>& after, std::size_t limit,
                                        Time moment) = 0;
    virtual ClockReading read_clock() = 0;
    // Writes the floor for processes that start later, if that needs no waiting.
    virtual void raise_floor(Time floor) noexcept = 0;
    // The key of a row that is this number of rows behind the place, and nothing if there are fewer
    // rows. The rows of exclusive and of shared leases count apart: the nearer key is returned.
    virtual std::optional<KeyPlace> place_behind(const KeyPlace& place, std::size_t rows) = 0;
    // The live leases that match, up to the limit. Looks through the keys in their order, from
    // `request.after` to `until`.
    virtual std::vector<Holder> list(const List& request, Time now, const KeyPlace& until) = 0;
    // The next rows, up to the limit, also those older than the retention.
    virtual std::vector<PastLease> history(const History& request) = 0;
    virtual std::size_t forget_history(Time before, std::size_t limit) = 0;

    // The time to decide by, now. A store calls it when it is opened, to learn the floor.
    Time now();

    // A store calls it after a shortcut that was given `floor` and used times up to `latest`.
    enum class Changed { no, yes };
    void note_shortcut(Time floor, Time latest, SteadyClock::time_point asked, Changed changed);

    // A store calls it with every new connection.
    void set_status(StoreStatus status);

    const StoreOptions options_;

private:
    const std::shared_ptr<StoreClock> shared_clock_;

protected:
    StoreClock& clock_;

private:
    using Indices = std::vector<std::size_t>;

    struct Batch {
        std::span<const Request> requests;
        std::span<Outcome> outcomes;

        [[nodiscard]] bool answered(std::size_t index) const {
            return !std::holds_alternative<std::monostate>(outcomes[index]);
        }
    };

    // Whether requests that a shortcut may answer have been through it.
    enum class Shortcut { not_tried, tried };
    void apply_guarded(Batch batch, void (CellStore::*apply_all)(Batch batch));
    void apply_whole(Batch batch) { apply_in_runs(batch, Shortcut::not_tried); }
    void apply_after_shortcut(Batch batch) { apply_in_runs(batch, Shortcut::tried); }
    void apply_shortcut(Batch batch);
    void apply_in_runs(Batch batch, Shortcut tried);
    void apply_to_cells(Batch batch, Indices which, Shortcut tried = Shortcut::not_tried);
    // Answers requests by shortcut() and by reading only, and removes them from `which`.
    void take_shortcut(Batch batch, Indices& which, Shortcut tried);
    // The first request on each key, in the order of the keys.
    static void keep_first_on_each_key(Batch batch, Indices& which);

    enum class Attempted { done, met_conflicts, too_much, met_fault_of_one };
    [[nodiscard]] Attempted attempt(Batch batch, const Indices& which, RetryPolicy policy);
    void retry_blocked(Batch batch, const Indices& which);
    // One request that meets conflicts does not hold up the others.
    void apply_one_by_one(Batch batch, const Indices& which);
    // Splits work that exceeds one transaction.
    void apply_in_parts(Batch batch, const Indices& which);
    [[nodiscard]] Outcome release_key_by_key(const ReleaseAll& all);
    // Nothing if the owner has too many for one transaction.
    [[nodiscard]] std::optional<std::vector<LockKey>> keys_to_release(const std::string& owner,
                                                                      OwnerScope scope);

    // One transaction. `read_only` answers requests that change no cell, and leaves the others
    // unanswered.
    enum class Way { read_only, full };
    void transact(Batch batch, const Indices& which, Way way);
    // Answers a request that is too large for the transaction, and leaves it out of the plan.
    [[nodiscard]] Plan planned(Batch batch, const Indices& which);
    [[nodiscard]] std::vector<Outcome> decide(std::span<const Request> requests, const Plan& plan,
                                              Work& work, Time at, Way way) const;
    enum class Locking { no, yes };
    [[nodiscard]] Time load_and_observe(Work& work, Locking locking);
    struct Asked {
        SteadyClock::time_point at;
        Time floor;  // the least time that the answer may use
    };
    [[nodiscard]] Asked ask_now();
    // The time to decide by.
    [[nodiscard]] Time observe(const ClockReading& reading, const Asked& asked);
    void keep_floor(Time now);
    // Answers a request that works on no cell.
    [[nodiscard]] Outcome answer_alone(const Request& request);
    [[nodiscard]] Outcome answer(const List& request);
    // The answer to a List that looks through this number of rows at most.
    [[nodiscard]] HolderPage list_within(const List& request, std::size_t rows);
    // The answer to a List of an owner's leases, which are on some of these keys.
    [[nodiscard]] HolderPage list_owned(const List& request, std::vector<LockKey> keys);
    [[nodiscard]] Outcome answer(const History& request);
    [[nodiscard]] Outcome answer(const Purge& request);
    [[nodiscard]] bool keeps_history() const {
        return options_.history == StoreOptions::KeepHistory::on;
    }
    // Forgets the candidates that have been dead since `moment`, and returns their number.
    std::size_t forget_dead(const std::vector<Candidate>& candidates, Time moment);
    // Splits work that exceeds one transaction or meets an unreadable row. A single row that is too
    // large or unreadable is left as it is.
    std::size_t forget_dead_in_parts(Work work, Time moment);
    std::size_t forget_dead(Work work, Time moment);

    const Bounds bounds_;
    Time floor_raised_at_{};
    SteadyClock::time_point clock_read_at_{};
    std::optional<LockKey> purge_after_;
    std::size_t housekeeping_done_ = 0;  // keys looked at in this round
    std::mutex status_mutex_;
    StoreStatus status_;  // guarded by status_mutex_
};

// Throws StoreFault if the options demand a durability that the store does not have.
void require_durability(const StoreOptions& options, const StoreStatus& status);

}  // namespace leasehold
