#include <leasehold/stores/mariadb.hpp>

#include <algorithm>
#include <mutex>
#include <utility>

#include "core/cell_store.hpp"
#include "core/columns.hpp"
#include "stores/mariadb/connection.hpp"
#include "stores/mariadb/rows.hpp"
#include "stores/mariadb/schema.hpp"
#include "stores/mariadb/shortcuts.hpp"

namespace leasehold::mariadb {
namespace {

// How many rows one statement reads or writes: it stays far below max_allowed_packet, whatever they
// hold.
constexpr std::size_t rows_per_statement = 256;

// Calls `use` with one part of the items after the other.
template <class T, class Use>
void in_parts(const std::vector<T>& items, Use use) {
    for (std::size_t at = 0; at < items.size(); at += rows_per_statement) {
        use(std::span{items}.subspan(at, std::min(rows_per_statement, items.size() - at)));
    }
}

bool only_prolonged(const LockRow& before, const LockRow& after) {
    return after.lock_id == before.lock_id && after.fence == before.fence &&
           after.ended == before.ended && after.mode == before.mode &&
           after.granted_at == before.granted_at && after.owner == before.owner &&
           after.note == before.note;
}

class MariadbStore final : public CellStore {
public:
    MariadbStore(const Connection& target, const StoreOptions& options)
        : CellStore{options},
          link_{target, options.io_timeout},
          floor_trust_{std::min<Duration>(options.retention / 2, std::chrono::minutes{1})} {
        link_.connect();
        migrate(link_);
        prepare();
        (void)now();
    }

    [[nodiscard]] StoreStatus status() override {
        const std::lock_guard lock{status_mutex_};
        return status_;
    }

protected:
    bool shortcut(std::span<const Request> requests, std::span<const std::size_t> which,
                  std::span<Outcome> outcomes) override {
        // Several at once take no longer the long way.
        if (which.size() > 1) return false;
        const std::size_t index = which.front();
        const auto* release = std::get_if<Release>(&requests[index]);
        if (release != nullptr && options_.history == StoreOptions::KeepHistory::off) return false;
        connect();
        if (SteadyClock::now() - floor_read_ > floor_trust_) (void)now();
        const Time floor = clock_.floor();
        const auto asked = SteadyClock::now();
        std::optional<Lease> lease;
        guarded([&] {
            transaction_ = Transaction::open;
            lease = std::visit(
                [&]<class R>(const R& request) -> std::optional<Lease> {
                    if constexpr (requires { shortcuts_->ask(link_, request, floor); }) {
                        return shortcuts_->ask(link_, request, floor);
                    } else {
                        return std::nullopt;
                    }
                },
                requests[index]);
            transaction_ = Transaction::none;
        });
        if (!lease) return true;
        const bool changed = !std::holds_alternative<Check>(requests[index]);
        note_shortcut(floor, lease->store_now, asked, changed ? Changed::yes : Changed::no);
        outcomes[index] = *std::move(lease);
        return true;
    }

    Begun begin() override {
        if (transaction_ == Transaction::open) rollback();
        connect();
        transaction_ = Transaction::wanted;
        return Begun::writing;
    }

    void load(Work& work) override {
        if (transaction_ == Transaction::none) connect();
        guarded([&] { bring(work); });
    }

    void save_and_commit(Work& work) override {
        guarded([&] {
            Script script;
            if (transaction_ != Transaction::open) {
                script.add("start transaction");
                transaction_ = Transaction::open;
            }
            const auto add = [&](const std::string& statement) {
                if (script.text().size() > longest_script) {
                    link_.run(script);
                    script.clear();
                }
                script.add(statement);
            };
            write(work, add);
            script.add("commit");  // lab: commit
            link_.commit(script);
            transaction_ = Transaction::none;
        });
    }

    void rollback() noexcept override {
        const bool open = std::exchange(transaction_, Transaction::none) == Transaction::open;
        if (!open || !link_.connected()) return;
        try {
            link_.run("rollback");
        } catch (const StoreFault&) {
            link_.disconnect();
        }
    }

    std::unordered_map<LockId, LockKey> locate(std::span<const LockId> lock_ids) override {
        connect();
        std::unordered_map<LockId, LockKey> keys;
        in_parts(std::vector(lock_ids.begin(), lock_ids.end()), [&](std::span<const LockId> part) {
            auto rows = query(select_keys(part));
            while (rows.next()) {
                if (auto key = key_at(rows, 1)) {
                    keys.emplace(lock_id_from(rows.text(0)), *std::move(key));
                }
            }
        });
        return keys;
    }

    std::vector<LockKey> keys_of(const std::string& owner, OwnerScope scope) override {
        connect();
        std::vector<LockKey> keys;
        auto rows = query(select_keys(owner, scope));
        while (rows.next()) {
            if (auto key = key_at(rows, 0)) keys.push_back(*std::move(key));
        }
        sort_and_unite(keys);
        return keys;
    }

    std::vector<Candidate> scan(const std::optional<LockKey>& after, std::size_t limit,
                                Time moment) override {
        std::optional<Place> from;
        if (after) from = Place{std::string{after->type()}, std::string{after->id()}};
        return page<Candidate>(
            limit, [&](std::size_t rows) { return select_from(from, rows); },
            [&](const ResultSet& row) -> std::optional<Candidate> {
                from = {.type = std::string{row.text(0)}, .id = std::string{row.text(1)}};
                auto key = key_at(row, 0);
                if (!key) return std::nullopt;
                return Candidate{*std::move(key), time_from(row.integer(2)) <= moment};
            });
    }

    ClockReading read_clock() override {
        connect();
        return reading_of(query(clock_query));
    }

    void raise_floor(Time floor) noexcept override {
        try {
            link_.run(leasehold::mariadb::raise_floor(floor));
        } catch (...) {
            // Another store is doing it; a fault that lasts will be met by the next request.
        }
    }

    std::vector<Holder> list(const List& request, Time now) override {
        std::optional<Place> from;
        if (const auto& after = request.after) {
            from =
                Place{std::string{after->key.type()}, std::string{after->key.id()}, after->fence};
        }
        return page<Holder>(
            request.limit,
            [&](std::size_t rows) { return select_holders(request, from, rows, now); },
            [&](const ResultSet& row) {
                from = {.type = std::string{row.text(0)},
                        .id = std::string{row.text(1)},
                        .fence = row.integer(4)};
                return holder_at(row);
            });
    }

    std::vector<PastLease> history(const History& request, Time oldest) override {
        std::optional<std::int64_t> before = request.before;
        return page<PastLease>(
            request.limit,
            [&](std::size_t rows) { return select_history(request, before, rows, oldest); },
            [&](const ResultSet& row) -> std::optional<PastLease> {
                before = row.integer(13);
                const auto ended = ended_at(row);
                if (!ended) return std::nullopt;
                return to_past(*ended, *before);
            });
    }

    std::size_t forget_history(Time before, std::size_t limit) override {
        connect();
        auto range = query(
            "select min(seq), max(seq) from (select seq, ended_at from lock_history "
            "order by seq limit " +
            std::to_string(limit) + ") oldest where ended_at < " + std::to_string(micros(before)));
        if (!range.next() || range.is_null(0)) return 0;
        Script script;
        script
            .add("delete from lock_history where seq between " + std::string{range.text(0)} +
                 " and " + std::string{range.text(1)} + " and ended_at < " +
                 std::to_string(micros(before)))
            .add("select row_count()");
        try {
            std::vector<ResultSet> results = link_.commit(script);
            results.front().next();
            return static_cast<std::size_t>(results.front().integer(0));
        } catch (const SqlError& error) {
            if (error.is_conflict()) return 0;  // another server is at it
            throw;
        }
    }

private:
    enum class Transaction { none, wanted, open };

    void connect() {
        if (link_.connect()) prepare();
    }

    // What every new connection is used for first.
    void prepare() {
        shortcuts_.reset();
        try {
            read_settings();
            shortcuts_.emplace(link_.get());
        } catch (...) {
            link_.disconnect();
            throw;
        }
    }

    ResultSet query(std::string_view sql) { return std::move(link_.run(sql).front()); }

    // Some items, by `sql` for so many rows. `read` skips rows that are not for us and remembers
    // where `sql` is to go on.
    template <class Item, class Sql, class Read>
    std::vector<Item> page(std::size_t limit, Sql sql, Read read) {
        connect();
        std::vector<Item> items;
        for (bool more = true; more && items.size() < limit;) {
            const std::size_t wanted = limit - items.size();
            std::size_t seen = 0;
            for (auto rows = query(sql(wanted)); rows.next(); ++seen) {
                if (auto item = read(rows)) items.push_back(*std::move(item));
            }
            more = seen == wanted;
        }
        return items;
    }

    ClockReading reading_of(ResultSet clock) {
        floor_read_ = SteadyClock::now();
        clock.next();
        return {time_from(clock.integer(0)), time_from(clock.integer(1))};  // lab: clock
    }

    // Whatever goes wrong in a transaction, it is over.
    template <class Do>
    void guarded(Do work) {
        try {
            work();
        } catch (const SqlError& error) {
            rollback();
            if (error.is_conflict()) throw Conflict{};
            throw;
        } catch (...) {
            rollback();
            throw;
        }
    }

    void bring(Work& work) {
        const bool locking = transaction_ == Transaction::wanted;
        std::vector<const LockKey*> to_lock;
        std::vector<const LockKey*> to_read;
        for (const Slot& slot : work.slots) {
            const bool lock = locking && slot.intent == Slot::Intent::change;
            (lock ? to_lock : to_read).push_back(&slot.key);
        }
        Script script;
        if (locking) {
            script.add("start transaction");
            transaction_ = Transaction::open;
        }
        in_parts(to_lock, [&](Keys part) { script.add(select_and_lock(part)); });
        const std::size_t locked_results = script.statements() - (locking ? 1 : 0);
        in_parts(to_read, [&](Keys part) { script.add(select_with_shares(part)); });
        const std::size_t read_results = script.statements() - (locking ? 1 : 0);
        if (locking) {
            in_parts(work.lock_ids,
                     [&](std::span<const LockId> ids) { script.add(select_past(ids)); });
        }
        script.add(clock_query);

        std::vector<ResultSet> results = link_.run(script);
        for (std::size_t i = 0; i + 1 < results.size(); ++i) {
            if (i < locked_results)
                take_locked(work, results[i]);
            else if (i < read_results)
                take_read(work, results[i]);
            else
                take_past(work, results[i]);
        }
        work.reading = reading_of(std::move(results.back()));

        if (locking) {
            tell_missing_from_blocked(work);
            bring_shares(work);
        } else {
            bring_past(work);
        }
    }

    // A row that was to be locked and did not come is missing, or somebody's transaction has it.
    void tell_missing_from_blocked(Work& work) {
        std::vector<const LockKey*> absent;
        for (const Slot& slot : work.slots) {
            if (slot.intent == Slot::Intent::change && slot.state == Slot::State::missing) {
                absent.push_back(&slot.key);
            }
        }
        if (absent.empty()) return;
        Script script;
        in_parts(absent, [&](Keys part) { script.add(select_with_shares(part)); });
        script.add(clock_query);
        std::vector<ResultSet> results = link_.run(script);
        for (std::size_t i = 0; i + 1 < results.size(); ++i) {
            take_read(work, results[i], Slot::State::blocked);
        }
        work.reading = reading_of(std::move(results.back()));
    }

    // Nobody changes the shares of a row that we have locked.
    void bring_shares(Work& work) {
        std::vector<const LockKey*> shared;
        for (const Slot& slot : work.slots) {
            if (slot.intent == Slot::Intent::change && slot.state == Slot::State::ours &&
                slot.row.mode == Mode::shared && slot.row.ended == Gone::unknown) {
                shared.push_back(&slot.key);
            }
        }
        in_parts(shared, [&](Keys part) {
            auto rows = query(select_shares(part));
            while (rows.next()) {
                if (Slot* slot = find(work, rows)) slot->shares.push_back(share_at(rows, 2));
            }
        });
    }

    void bring_past(Work& work) {
        std::vector<LockId> wanted;
        for (const LockId& id : work.lock_ids) {
            const bool current = std::ranges::any_of(work.slots, [&](const Slot& slot) {
                return slot.row.lock_id == id ||
                       std::ranges::find(slot.shares, id, &Grant::lock_id) != slot.shares.end();
            });
            if (!current) wanted.push_back(id);
        }
        in_parts(wanted, [&](std::span<const LockId> part) {
            auto rows = query(select_past(part));
            take_past(work, rows);
        });
    }

    static Slot* find(Work& work, const ResultSet& rows) {
        const auto key = std::pair{rows.text(0), rows.text(1)};
        const auto slot = std::ranges::lower_bound(work.slots, key, {}, [](const Slot& s) {
            return std::pair{std::string_view{s.key.type()}, std::string_view{s.key.id()}};
        });
        const bool found = slot != work.slots.end() && slot->key.type() == key.first &&
                           slot->key.id() == key.second;
        return found ? &*slot : nullptr;
    }

    static void take_locked(Work& work, ResultSet& rows) {
        while (rows.next()) {
            Slot* slot = find(work, rows);
            if (slot == nullptr) continue;
            slot->state = Slot::State::ours;
            slot->row = row_at(rows, 2);
        }
    }

    static void take_read(Work& work, ResultSet& rows, Slot::State state = Slot::State::ours) {
        constexpr unsigned first_share_column = 2 + row_column_count;
        while (rows.next()) {
            Slot* slot = find(work, rows);
            if (slot == nullptr) continue;
            if (slot->state == Slot::State::missing) {
                slot->state = state;
                slot->row = row_at(rows, 2);
            }
            if (rows.is_null(first_share_column)) continue;
            const auto place = std::ranges::upper_bound(
                slot->shares, rows.integer(first_share_column + 3), {}, &Grant::fence);
            slot->shares.insert(place, share_at(rows, first_share_column));
        }
    }

    static void take_past(Work& work, ResultSet& rows) {
        while (rows.next()) {
            if (auto ended = ended_at(rows)) {
                const LockId id = ended->ending->grant.lock_id;
                work.past.emplace(id, *std::move(ended));
            }
        }
    }

    template <class Add>
    void write(const Work& work, const Add& add) {
        std::vector<const LockKey*> forgotten;
        std::vector<KeyedRow> made;
        std::vector<KeyedRow> overwritten;
        std::vector<KeyedRow> prolonged;
        std::vector<KeyedId> ended_shares;
        std::vector<KeyedShare> made_shares;
        std::vector<KeyedShare> changed_shares;
        for (const Slot& slot : work.slots) {
            if (!slot.forget && !slot.cell.changed) continue;
            const ShareChanges changes = share_changes(slot);
            for (const LockId& id : changes.removed) ended_shares.emplace_back(&slot.key, id);
            if (slot.forget) {
                forgotten.push_back(&slot.key);
                continue;
            }
            for (const Grant* grant : changes.written) {
                const bool is_new = std::ranges::find(slot.shares, grant->lock_id,
                                                      &Grant::lock_id) == slot.shares.end();
                (is_new ? made_shares : changed_shares).push_back({&slot.key, grant});
            }
            KeyedRow keyed{&slot.key, row_of(slot)};
            if (slot.state == Slot::State::missing)
                made.push_back(std::move(keyed));
            else if (only_prolonged(slot.row, keyed.row))
                prolonged.push_back(std::move(keyed));
            else
                overwritten.push_back(std::move(keyed));
        }
        // New rows first: where another transaction makes one of them too, nothing is done in vain.
        in_parts(made, [&](auto part) { add(insert_rows(part)); });
        in_parts(overwritten, [&](auto part) { add(overwrite_rows(part)); });
        in_parts(prolonged, [&](auto part) { add(prolong_rows(part)); });
        in_parts(forgotten, [&](Keys part) { add(delete_rows(part)); });
        in_parts(ended_shares, [&](auto part) { add(delete_shares(part)); });
        in_parts(made_shares, [&](auto part) { add(insert_shares(part)); });
        in_parts(changed_shares, [&](auto part) { add(write_shares(part)); });
        in_parts(work.endings,
                 [&](auto part) { add(std::string{for_history} + add_to_history(part)); });
        if (work.raise_floor_to > Time{}) add(leasehold::mariadb::raise_floor(work.raise_floor_to));
    }

    void read_settings() {
        auto rows = query(
            "show variables where variable_name in ('version', "
            "'innodb_flush_log_at_trx_commit', 'innodb_flush_method', "
            "'innodb_doublewrite', 'log_bin', 'sync_binlog', 'binlog_format')");
        std::unordered_map<std::string, std::string> settings;
        while (rows.next()) settings.emplace(rows.text(0), rows.text(1));

        const bool logs = settings["log_bin"] == "ON" || settings["log_bin"] == "1";
        if (logs && settings["binlog_format"] == "STATEMENT") {
            refuse(
                "binlog_format is STATEMENT, which InnoDB refuses with READ COMMITTED; set it to "
                "MIXED or ROW");
        }
        StoreStatus status;
        const std::string& version = settings["version"];
        status.name = "mariadb " + version.substr(0, version.find('-'));
        const auto warn = [&](const std::string& setting, const std::string& right) {
            status.warnings.push_back(setting + " is " + settings[setting] + ": " + right);
        };
        if (settings["innodb_flush_log_at_trx_commit"] != "1") {
            warn("innodb_flush_log_at_trx_commit", "a crash can lose commits; set it to 1");
        }
        if (const std::string& method = settings["innodb_flush_method"];
            method == "nosync" || method == "littlesync") {
            warn("innodb_flush_method", "a power cut can lose commits; use O_DIRECT or fsync");
        }
        if (logs && settings["sync_binlog"] != "1") {
            warn("sync_binlog", "a power cut can lose commits from the binary log; set it to 1");
        }
        status.durability = status.warnings.empty() ? Durability::strong : Durability::weak;
        if (settings["innodb_doublewrite"] == "OFF" || settings["innodb_doublewrite"] == "0") {
            warn("innodb_doublewrite",
                 "a power cut can tear pages unless the file system writes them atomically");
        }
        require_durability(options_, status);
        const std::lock_guard lock{status_mutex_};
        status_ = std::move(status);
    }

    Link link_;
    std::optional<Shortcuts> shortcuts_;  // on link_
    Transaction transaction_ = Transaction::none;
    // Shortcuts go without reading the floor that purges leave, if that was done not long ago: what
    // a purge forgot meanwhile had ended a retention before, and so before the last reading.
    const Duration floor_trust_;
    SteadyClock::time_point floor_read_{};
    std::mutex status_mutex_;
    StoreStatus status_;  // guarded by status_mutex_
};

}  // namespace

std::unique_ptr<Store> open(const Connection& connection, StoreOptions options) {
    return std::make_unique<MariadbStore>(connection, options);
}

}  // namespace leasehold::mariadb
