#include <leasehold/stores/sqlite.hpp>

#include <sqlite3.h>

#include <algorithm>
#include <utility>

#include "core/cell_store.hpp"
#include "stores/sqlite/database.hpp"
#include "stores/sqlite/rows.hpp"
#include "stores/sqlite/schema.hpp"
#include "stores/sqlite/watch.hpp"

namespace leasehold::sqlite {
namespace {

// The number of recently used keys whose rows are kept in memory while no other connection writes.
constexpr std::size_t max_cached = 4096;

// How long a statement waits while another process writes.
void set_patience(::sqlite3* db, Duration patience) {
    sqlite3_busy_timeout(
        db, static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(patience).count()));
}

std::function<Time()> machine_clock() {
    return [] { return std::chrono::floor<Duration>(std::chrono::system_clock::now()); };
}

class SqliteStore final : public CellStore {
public:
    SqliteStore(const SchemaSteps& steps, const std::string& path, const StoreOptions& options,
                std::function<Time()> clock)
        : CellStore{options},
          path_{path},
          version_{steps.size()},
          machine_clock_{clock ? std::move(clock) : machine_clock()},
          db_{prepare(path, steps)},
          rows_{db_.get(), steps.size()},
          begin_{db_.get(), "begin immediate"},
          commit_{db_.get(), "commit"},
          rollback_{db_.get(), "rollback"} {
        // After that this store only reads.
        set_patience(db_.get(), retries::sqlite_writer_patience);
        read_settings();
        (void)now();
    }

    [[nodiscard]] std::unique_ptr<StoreWatch> open_watch() override {
        return make_watch(path_, version_);
    }

protected:
    Begun begin() override {
        const int code = begin_.step_code();
        begin_.reset();
        if (code == SQLITE_DONE) return Begun::writing;
        if ((code & 0xFF) == SQLITE_BUSY) return Begun::reading_only;
        fail(db_.get(), StoreFault::Effect::none, "begin immediate");
    }

    void load(Work& work) override {
        require_file();
        const Rows::Snapshot snapshot = rows_.snapshot();
        forget_what_may_have_changed();
        known_.clear();
        for (Slot& slot : work.slots) {
            const Known& known = *known_.emplace_back(&find(slot.key));
            if (known.rowid == 0) continue;
            slot.state = Slot::State::ours;
            slot.row = known.row;
            slot.shares = known.shares;
        }
        for (const LockId& id : work.lock_ids) {
            const bool current = std::ranges::any_of(work.slots, [&](const Slot& slot) {
                return slot.row.lock_id == id && slot.row.ended == Gone::unknown;
            });
            if (current) continue;
            // lab: past-lease
            if (auto past = rows_.find_past(id)) work.past.emplace(id, *std::move(past));
        }
        work.reading = {machine_clock_(), snapshot.floor};
    }

    void save_and_commit(Work& work) override {
        cache_version_.reset();  // until it is committed
        try {
            // The rows refer to their history, so the history is written first.
            for (const Ended& ended : work.endings) {
                const auto slot = std::ranges::lower_bound(work.slots, ended.key, {}, &Slot::key);
                rows_.add_to_history(ended,
                                     *known_[static_cast<std::size_t>(slot - work.slots.begin())]);
            }
            for (std::size_t i = 0; i < work.slots.size(); ++i) {
                const Slot& slot = work.slots[i];
                if (slot.forget) {
                    rows_.erase(slot, *known_[i]);
                } else if (slot.cell.changed) {
                    rows_.write(slot, *known_[i]);
                }
            }
            if (work.raise_floor_to > Time{}) rows_.raise_floor(work.raise_floor_to);
        } catch (const StoreFault&) {
            const bool constraint = (sqlite3_errcode(db_.get()) & 0xFF) == SQLITE_CONSTRAINT;
            rollback();
            if (constraint) throw Conflict{};
            throw;
        }
        const int code = commit_.step_code();  // lab: commit
        commit_.reset();
        if (code == SQLITE_DONE) {
            cache_version_ = data_version();
            return;
        }
        if ((code & 0xFF) == SQLITE_BUSY) throw Conflict{};
        const std::string problem = sqlite3_errmsg(db_.get());
        rollback();
        // The commit may be in the log although it could not be flushed.
        throw StoreFault{StoreFault::Effect::unknown, StoreFault::Cause::unavailable,
                         "sqlite: commit: " + problem};
    }

    void rollback() noexcept override {
        if (!in_transaction()) return;
        (void)rollback_.step_code();
        rollback_.reset();
    }

    std::unordered_map<LockId, LockKey> locate(std::span<const LockId> lock_ids) override {
        std::unordered_map<LockId, LockKey> keys;
        for (const LockId& id : lock_ids) {
            if (auto key = rows_.locate(id)) keys.emplace(id, *std::move(key));
        }
        return keys;
    }

    OwnedKeys keys_of(const std::string& owner, OwnerScope scope, std::size_t most) override {
        return rows_.keys_of(owner, scope, most);
    }

    std::vector<Candidate> scan(const std::optional<LockKey>& after, std::size_t limit,
                                Time moment) override {
        std::vector<Candidate> candidates;
        for (auto& [key, expires_at] : rows_.scan(after, limit)) {
            candidates.push_back({std::move(key), expires_at <= moment});
        }
        return candidates;
    }

    ClockReading read_clock() override {
        require_file();
        return {machine_clock_(), rows_.snapshot().floor};
    }

    void raise_floor(Time floor) noexcept override {
        try {
            if (begin() != Begun::writing) return;
            Work work;
            load(work);
            work.raise_floor_to = floor;
            save_and_commit(work);
        } catch (...) {
            rollback();  // the floor is raised again later
        }
    }

    std::optional<KeyPlace> place_behind(const KeyPlace& place, std::size_t rows) override {
        return rows_.place_behind(place, rows);
    }

    std::vector<Holder> list(const List& request, Time now, const KeyPlace& until) override {
        return rows_.list(request, now, until);
    }

    std::vector<PastLease> history(const History& request) override {
        return rows_.history(request);
    }

    std::size_t forget_history(Time before, std::size_t limit) override {
        try {
            return rows_.forget_history(before, limit);
        } catch (const StoreFault&) {
            if ((sqlite3_errcode(db_.get()) & 0xFF) == SQLITE_BUSY) throw Conflict{};
            throw;
        }
    }

private:
    [[nodiscard]] bool in_transaction() const { return sqlite3_get_autocommit(db_.get()) == 0; }

    // Throws if the file was moved: other processes may use the file that is at its path now, and
    // the open file is out of date.
    void require_file() {
        int moved = 0;
        sqlite3_file_control(db_.get(), "main", SQLITE_FCNTL_HAS_MOVED, &moved);
        if (moved == 0) return;
        throw StoreFault{
            StoreFault::Effect::none, StoreFault::Cause::unavailable,
            "sqlite: the database file was moved, replaced or deleted: put it back, or "
            "restart to use the file that is there now"};
    }

    // Changes with every commit to the file, also of this connection. Current after a read.
    [[nodiscard]] std::uint32_t data_version() {
        std::uint32_t version = 0;
        sqlite3_file_control(db_.get(), "main", SQLITE_FCNTL_DATA_VERSION, &version);
        return version;
    }

    void forget_what_may_have_changed() {
        const std::uint32_t version = data_version();
        // lab: cache-version
        if (cache_version_ != version || cache_.size() >= max_cached) cache_.clear();
        cache_version_ = version;
    }

    Known& find(const LockKey& key) {
        const auto cached = cache_.find(key);
        return cached != cache_.end() ? cached->second
                                      : cache_.emplace(key, rows_.find(key)).first->second;
    }

    // SQLite does not wait here by itself while another connection writes to a file that is not in
    // WAL mode yet.
    static void set_wal(::sqlite3* db) {
        for (Retry retry{retries::sqlite_opening,
                         SteadyClock::now() + retries::sqlite_opening_patience};
             ;) {
            Statement pragma{db, "pragma journal_mode = wal"};
            const int code = pragma.step_code();
            if (code == SQLITE_ROW) return;
            if ((code & 0xFF) != SQLITE_BUSY || !retry.pause()) {
                fail(db, StoreFault::Effect::none, "journal_mode = wal");
            }
        }
    }

    static Database prepare(const std::string& path, const SchemaSteps& steps) {
        Database db = open_database(path);
        set_patience(db.get(), retries::sqlite_opening_patience);
        set_wal(db.get());
        execute(db.get(), "pragma synchronous = full");
        execute(db.get(), "pragma cache_spill = off");  // as GatheredLog demands
        migrate(db.get(), steps);
        return db;
    }

    void read_settings() {
        StoreStatus status{.name = std::string{"sqlite "} + sqlite3_libversion(),
                           .durability = Durability::strong};
        Statement journal{db_.get(), "pragma journal_mode"};
        if (journal.step(); journal.text(0) != "wal") {
            status.durability = Durability::weak;
            status.warnings.push_back("journal_mode is " + journal.text(0) +
                                      ": use a file on a local disk, so that it can be wal");
        }
        Statement synchronous{db_.get(), "pragma synchronous"};
        constexpr std::int64_t full = 2;
        if (synchronous.step(); synchronous.integer(0) < full) {
            status.durability = Durability::weak;
            status.warnings.emplace_back("synchronous is below FULL");
        }
        set_status(std::move(status));
    }

    const std::string path_;
    const std::size_t version_;
    const std::function<Time()> machine_clock_;
    Database db_;
    Rows rows_;
    Statement begin_;
    Statement commit_;
    Statement rollback_;

    // Rows of the file, valid while cache_version_ is the file's version. At most max_cached keys
    // when a transaction begins.
    std::unordered_map<LockKey, Known> cache_;
    std::optional<std::uint32_t> cache_version_;
    std::vector<Known*> known_;  // in cache_: the rows of the current work's slots
};

}  // namespace

std::unique_ptr<Store> open(const std::string& path, StoreOptions options,
                            std::function<Time()> clock) {
    return open_with(schema_steps(), path, options, std::move(clock));
}

std::unique_ptr<Store> open_with(const SchemaSteps& steps, const std::string& path,
                                 const StoreOptions& options, std::function<Time()> clock) {
    auto store = std::make_unique<SqliteStore>(steps, path, options, std::move(clock));
    require_durability(options, store->status());
    return store;
}

}  // namespace leasehold::sqlite
