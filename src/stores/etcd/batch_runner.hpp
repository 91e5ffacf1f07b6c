#pragma once

#include <functional>
#include <string>
#include <vector>

#include <leasehold/stores/etcd.hpp>

#include "core/cell_store.hpp"
#include "stores/etcd/clock_key.hpp"
#include "stores/etcd/gateway.hpp"
#include "stores/etcd/known_rows.hpp"
#include "stores/etcd/names.hpp"
#include "stores/etcd/records.hpp"
#include "stores/etcd/schema.hpp"
#include "stores/etcd/txn.hpp"

namespace leasehold::etcd {

// What the runners of one store share. Thread-safe.
struct Shared {
    const KeySteps steps;
    const Cluster target;
    const StoreOptions options;
    const std::function<SteadyClock::time_point()> steady;
    const Names names{target.prefix};
    const std::string format = format_of(steps.size());
    Members members{target.endpoints.size()};
    ClockKey clock{};
    KnownRows rows{};
};

// Applies batches over one connection to etcd. A store has several of these.
//
// etcd has no row locks, so a batch is decided first and compared when it is written:
//  1. Load the rows of the batch's keys from what the store remembers of them; a row that it does
//     not remember is assumed to be missing.
//  2. Let the rules decide on these rows.
//  3. Send one transaction: it compares every row's revision, the clock key and the schema version
//     with what step 1 used, and writes the changed rows.
//  4. If a comparison fails, the same transaction brings back the current rows. Start again with
//     them, as often as retries::etcd_conflict allows.
// Most batches need one round trip.
class BatchRunner final : public CellStore {
public:
    // `shared` outlives this.
    explicit BatchRunner(Shared& shared);

    // Makes or migrates the store's keys.
    void prepare();

protected:
    Begun begin() override;
    void load(Work& work) override;
    void save_and_commit(Work& work) override;
    void end_unchanged(Work& work) override;
    void rollback() noexcept override;

    std::unordered_map<LockId, LockKey> locate(std::span<const LockId> lock_ids) override;
    OwnedKeys keys_of(const std::string& owner, OwnerScope scope, std::size_t most) override;
    std::vector<Candidate> scan(const std::optional<LockKey>& after, std::size_t limit,
                                Time moment) override;
    ClockReading read_clock() override;
    void raise_floor(Time floor) noexcept override;
    std::optional<KeyPlace> place_behind(const KeyPlace& place, std::size_t rows) override;
    std::vector<Holder> list(const List& request, Time now, const KeyPlace& until) override;
    std::vector<PastLease> history(const History& request) override;
    std::size_t forget_history(Time before, std::size_t limit) override;

private:
    static constexpr int attempts = retries::etcd_conflict.attempts;

    struct KnownLease {
        std::optional<Ended> ended{};
        std::vector<LockKey> keys{};  // the keys whose rows have the lease
        Revision known_at = 0;
    };
    struct Unchanged {
        KeyRange range;
        Revision since;
    };
    struct KeyAndRow {
        LockKey key;
        KnownRow known;
    };
    using KnownLeases = std::unordered_map<LockId, KnownLease>;

    // Carries the transaction out if the keys have our version; throws StoreFault if not. Records
    // the clock key's value. `written`: the time that the transaction writes to the clock key.
    Answer send(Txn& txn, StoreFault::Effect effect, std::optional<Time> written = {});
    void require_our_version(const Page& format) const;
    // For reads that decide nothing.
    Page range(const KeyRange& range, std::size_t limit, Revision* revision = nullptr);

    // Makes the store's time known.
    void keep_time();
    void write_clock();
    // Makes the transaction raise the clock key to at least this time, waiting until that is
    // allowed. Returns the time.
    Time raise_clock(Txn& txn, Time at_least);
    // Also writes the clock key, if that is due and no other process does it.
    std::optional<Time> tick(Txn& txn) const;

    void load_as_it_is(Work& work);
    void load_as_known(Work& work);
    // Puts known_, leases_ and the time of the decision into the work.
    void lay_out(Work& work);
    [[nodiscard]] Time latest_dead(const Work& work) const;
    void read_leases(Txn& txn, std::span<const LockId> lock_ids) const;
    void take_leases(std::span<const Page> pages, std::span<const LockId> lock_ids,
                     Revision known_at);
    // Throws Conflict if what was loaded has changed.
    void commit(const Work& work, Txn& txn, StoreFault::Effect effect);
    void write(const Work& work, std::size_t index, Txn& txn);
    void add_to_history(const Work& work, Txn& txn) const;
    // Numbers the leases that ended.
    void number_what_ended();
    void number_when_many() noexcept;

    [[nodiscard]] KnownRow row_in(const Page& page, Revision known_at) const;
    // An unreadable row is left out, or the UnreadableRow is thrown.
    enum class Unreadable { skip, refuse };
    [[nodiscard]] std::vector<KeyAndRow> rows_in(const Page& page, Unreadable unreadable) const;
    [[nodiscard]] std::vector<KeyAndRow> rows_of(std::span<const LockKey> keys);
    [[nodiscard]] static std::int64_t sequence_of(const KeyValue& ended, const EndedRecord& record);
    [[nodiscard]] Page numbered(std::span<const KeyValue> pasts_of_a_key);
    [[nodiscard]] std::vector<Holder> list_once(const List& request, Time now,
                                                const KeyPlace& until, Time& dead);

    Shared& shared_;
    const Names& names_;
    Gateway gateway_;
    std::size_t unnumbered_ = 0;   // leases that ended here and have no number yet
    bool guessing_ = false;        // a batch was begun and has not ended
    std::vector<KnownRow> known_;  // the row of each slot of the work under way, after the work
    KnownLeases leases_;           // lock ids that no known row has
    std::vector<Unchanged> unchanged_;  // what else the work under way relies on
    Time decided_at_{};                 // the time of the decision under way
};

}  // namespace leasehold::etcd
