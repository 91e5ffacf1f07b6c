#include <leasehold/stores/mariadb.hpp>

#include <algorithm>
#include <utility>

#include "core/cell_store.hpp"
#include "core/columns.hpp"
#include "core/lane_store.hpp"
#include "core/request_traits.hpp"
#include "core/sql_text.hpp"
#include "stores/mariadb/connection.hpp"
#include "stores/mariadb/loading.hpp"
#include "stores/mariadb/parts.hpp"
#include "stores/mariadb/rows.hpp"
#include "stores/mariadb/saving.hpp"
#include "stores/mariadb/schema.hpp"
#include "stores/mariadb/shortcuts.hpp"

namespace leasehold::mariadb {
namespace {

class MariadbStore final : public CellStore {
public:
    MariadbStore(const Dialect& dialect, const SchemaSteps& steps, const Login& login,
                 const StoreOptions& options, std::shared_ptr<StoreClock> clock)
        : CellStore{options, {}, std::move(clock)},
          dialect_{dialect},
          steps_{steps},
          link_{dialect, login, options.io_timeout},
          floor_trust_{std::min<Duration>(options.retention / 2, std::chrono::minutes{1})} {
        link_.connect();
        migrate(link_, steps_, options);
        prepare();
        (void)now();
    }

protected:
    bool shortcut(std::span<const Request> requests, std::span<const std::size_t> which,
                  std::span<Outcome> outcomes) override {
        // Several requests at once are as fast the long way.
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
        const bool only_read = only_reads(kind_of(requests[index]));
        note_shortcut(floor, lease->store_now, asked, only_read ? Changed::no : Changed::yes);
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
        const bool locking = transaction_ == Transaction::wanted;
        if (locking) transaction_ = Transaction::open;
        guarded([&] {
            load_rows(link_, work, locking ? LoadTo::change : LoadTo::read, steps_.size());
        });
        work.reading = noted(work.reading);
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
            write_changes(dialect_, work, add);
            if (!dialect_.before_commit.empty()) script.add(dialect_.before_commit);
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
            auto rows = ask(select_keys(part));
            while (rows.next()) {
                if (auto key = key_at(rows, 1U)) {
                    keys.emplace(lock_id_from(rows.text(0)), *std::move(key));
                }
            }
        });
        return keys;
    }

    OwnedKeys keys_of(const std::string& owner, OwnerScope scope, std::size_t most) override {
        connect();
        OwnedKeys owned;
        for (auto rows = ask(select_keys(owner, scope, most + 1)); rows.next(); ++owned.rows) {
            if (rows.integer(2) == 0) continue;
            if (auto key = key_at(rows, 0U)) owned.keys.push_back(*std::move(key));
        }
        sort_and_unite(owned.keys);
        return owned;
    }

    std::vector<Candidate> scan(const std::optional<LockKey>& after, std::size_t limit,
                                Time moment) override {
        std::optional<Place> from;
        if (after) from = Place{std::string{after->type()}, std::string{after->id()}};
        return page<Candidate>(
            limit, [&](std::size_t rows) { return select_from(from, rows); },
            [&](const ResultSet& row) -> std::optional<Candidate> {
                from = {.type = std::string{row.text(0)}, .id = std::string{row.text(1)}};
                auto key = key_at(row, 0U);
                if (!key) return std::nullopt;
                return Candidate{*std::move(key), time_from(row.integer(2)) <= moment};
            });
    }

    ClockReading read_clock() override {
        connect();
        return noted(load_clock(link_, steps_.size()));
    }

    void raise_floor(Time floor) noexcept override {
        try {
            Script script;
            if (probes()) script.add(probe_floor());
            script.add(leasehold::mariadb::raise_floor(floor));
            link_.run(script);
        } catch (...) {
            // Another store is raising the floor. If the store has a fault, the next request meets
            // it.
        }
    }

    std::optional<KeyPlace> place_behind(const KeyPlace& place, std::size_t rows) override {
        connect();
        auto found = ask(select_place_behind(place, rows));
        if (!found.next()) return std::nullopt;
        return KeyPlace{std::string{found.text(0)}, std::string{found.text(1)}};
    }

    std::vector<Holder> list(const List& request, Time now, const KeyPlace& until) override {
        std::optional<Place> from;
        if (const auto& after = request.after) {
            from =
                Place{std::string{after->key.type()}, std::string{after->key.id()}, after->fence};
        }
        return page<Holder>(
            request.limit,
            [&](std::size_t rows) { return select_holders(request, from, until, rows, now); },
            [&](const ResultSet& row) -> std::optional<Holder> {
                const Grant lease = listed_at(row, 2U);
                from = {.type = std::string{row.text(0)},
                        .id = std::string{row.text(1)},
                        .fence = lease.fence};
                const auto key = key_at(row, 0U);
                return key ? std::optional{to_holder(*key, lease)} : std::nullopt;
            });
    }

    std::vector<PastLease> history(const History& request) override {
        std::optional<std::int64_t> before = request.before;
        return page<PastLease>(
            request.limit, [&](std::size_t rows) { return select_history(request, before, rows); },
            [&](const ResultSet& row) -> std::optional<PastLease> {
                before = row.integer(sequence_column);
                const auto ended = ended_at(row, 0U);
                if (!ended) return std::nullopt;
                return to_past(*ended, *before);
            });
    }

    std::size_t forget_history(Time before, std::size_t limit) override {
        connect();
        auto range = ask(
            "select min(seq), max(seq) from (select seq, ended_at from lock_history "
            "order by seq limit " +
            std::to_string(limit) + ") oldest where ended_at < " + std::to_string(micros(before)));
        if (!range.next() || range.is_null(0)) return 0;
        const std::string which =
            " from lock_history where seq between " + std::string{range.text(0)} + " and " +
            std::string{range.text(1)} + " and ended_at < " + std::to_string(micros(before));
        Script script;
        if (probes()) script.add("select count(*)" + which + " for update nowait");
        script.add("delete" + which).add("select row_count()");
        try {
            std::vector<ResultSet> results = link_.commit(script);
            results.back().next();
            return static_cast<std::size_t>(results.back().integer(0));
        } catch (const SqlError& error) {
            if (error.is_conflict()) return 0;  // another server is purging
            throw;
        }
    }

private:
    enum class Transaction { none, wanted, open };

    void connect() {
        if (link_.connect()) prepare();
    }

    // Prepares a new connection for work.
    void prepare() {
        shortcuts_.reset();
        try {
            require_a_clock();
            read_settings();
            link_.run("set @leasehold_schema = " + std::to_string(steps_.size()) +
                      ", @leasehold_zone = " + std::string{callers_zone});
            (void)load_clock(link_, steps_.size());
            warn_of_a_zone_in_the_west();
            shortcuts_.emplace(dialect_, link_.get());
        } catch (...) {
            link_.disconnect();
            throw;
        }
    }

    [[nodiscard]] bool probes() const { return dialect_.no_wait == Dialect::NoWait::by_probe; }

    ResultSet query(std::string_view sql) { return std::move(link_.run(sql).front()); }

    ResultSet ask(std::string_view sql) {
        try {
            return leasehold::mariadb::ask(link_, sql, steps_.size());
        } catch (const SqlError& error) {
            explain_by_schema(error);
            throw;
        }
    }

    // A later version may have changed the tables so that our statements are not understood.
    void explain_by_schema(const SqlError& error) {
        if (error.cause() != StoreFault::Cause::configuration || !link_.connected()) return;
        (void)load_clock(link_, steps_.size());
    }

    // A page of at most `limit` items. `sql` makes a query for a number of rows; `read` skips rows
    // that are not Leasehold's and remembers where the next query goes on.
    template <class Item, class Sql, class Read>
    std::vector<Item> page(std::size_t limit, Sql sql, Read read) {
        connect();
        std::vector<Item> items;
        for (bool more = true; more && items.size() < limit;) {
            const std::size_t wanted = limit - items.size();
            std::size_t seen = 0;
            for (auto rows = ask(sql(wanted)); rows.next(); ++seen) {
                if (auto item = read(rows)) items.push_back(*std::move(item));
            }
            more = seen == wanted;
        }
        return items;
    }

    ClockReading noted(ClockReading reading) {
        floor_read_ = SteadyClock::now();
        return reading;  // lab: clock
    }

    // Any failure ends the transaction.
    template <class Do>
    void guarded(Do work) {
        try {
            work();
        } catch (const SqlError& error) {
            rollback();
            if (error.is_conflict()) throw Conflict{};
            explain_by_schema(error);
            throw;
        } catch (...) {
            rollback();
            throw;
        }
    }

    // With sysdate-is-now, SYSDATE() is the time at which the statement began, and a session can
    // set that time.
    void require_a_clock() {
        auto clock = query("select sleep(0.001), sysdate(6) = now(6)");
        if (!clock.next() || clock.integer(1) == 0) return;
        refuse(dialect_,
               "the server was started with sysdate-is-now, so that SYSDATE() is not the time of "
               "the clock; start the server without that option");
    }

    // A program that shares table `locks` and writes dates of a zone west of the store's makes
    // locks that have ended already.
    void warn_of_a_zone_in_the_west() {
        auto rows = query(sql_text(
            "select type, id from (select type, id, expiration_time, granted_at, touched_at from "
            "locks where owner = '' limit 1000) rows_of_programs where touched_at = 0 and " +
                std::string{dialect_.is_in_the_west} + " limit 1",
            {{"expires", micros_of("expiration_time", own_zone)}, {"now", std::string{clock_us}}}));
        if (!rows.next()) return;
        const auto key = key_at(rows, 0U);
        StoreStatus warned = status();
        warned.warnings.push_back("the lock " + (key ? key->to_string() + ' ' : "") +
                                  "of another program " + std::string{dialect_.says_of_the_west} +
                                  ", so nobody respects its locks; see "
                                  "docs/decisions/pattern-programs.md");
        set_status(std::move(warned));
    }

    void read_settings() {
        auto rows = query(
            "show variables where variable_name in ('version', "
            "'innodb_flush_log_at_trx_commit', 'innodb_flush_method', "
            "'innodb_doublewrite', 'log_bin', 'sync_binlog', 'binlog_format')");
        std::unordered_map<std::string, std::string> settings;
        while (rows.next()) settings.emplace(rows.text(0), rows.text(1));
        // MySQL only; MariaDB has no such variable.
        auto redo_log = query("show global status like 'Innodb_redo_log_enabled'");
        if (redo_log.next()) settings.emplace("redo_log", redo_log.text(1));

        const bool logs = settings["log_bin"] == "ON" || settings["log_bin"] == "1";
        if (logs && settings["binlog_format"] == "STATEMENT") {
            refuse(
                dialect_,
                "binlog_format is STATEMENT, which InnoDB refuses with READ COMMITTED; set it to "
                "MIXED or ROW");
        }
        StoreStatus status;
        const std::string& version = settings["version"];
        status.name = std::string{dialect_.name} + ' ' + version.substr(0, version.find('-'));
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
        if (settings["redo_log"] == "OFF") {
            status.warnings.emplace_back(
                "the redo log is disabled: a crash loses everything; run ALTER INSTANCE ENABLE "
                "INNODB REDO_LOG");
        }
        status.durability = status.warnings.empty() ? Durability::strong : Durability::weak;
        if (const std::string& doublewrite = settings["innodb_doublewrite"];
            doublewrite == "OFF" || doublewrite == "0" || doublewrite == "DETECT_ONLY") {
            warn("innodb_doublewrite",
                 "a power cut can tear pages unless the file system writes them atomically");
        }
        require_durability(options_, status);
        set_status(std::move(status));
    }

    const Dialect& dialect_;
    const SchemaSteps steps_;
    Link link_;
    std::optional<Shortcuts> shortcuts_;  // on link_
    Transaction transaction_ = Transaction::none;
    // Shortcuts do not read the floor if it was read less than this ago. A lease that a purge
    // forgot since then had ended a whole retention before, and so before the last reading.
    const Duration floor_trust_;
    SteadyClock::time_point floor_read_{};
};

}  // namespace

std::unique_ptr<Store> open(const Login& connection, StoreOptions options) {
    return open_with(mariadb_dialect, schema_steps(mariadb_dialect), connection, options);
}

std::unique_ptr<Store> open_with(const Dialect& dialect, const SchemaSteps& steps,
                                 const Login& connection, const StoreOptions& options,
                                 const LaneOptions& lanes) {
    return std::make_unique<LaneStore>(
        [=, &dialect](std::shared_ptr<StoreClock> clock) {
            return std::make_unique<MariadbStore>(dialect, steps, connection, options,
                                                  std::move(clock));
        },
        options, lanes);
}

}  // namespace leasehold::mariadb
