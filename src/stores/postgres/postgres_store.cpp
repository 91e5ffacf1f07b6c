#include <leasehold/stores/postgres.hpp>

#include <libpq-fe.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "core/cell_store.hpp"
#include "stores/postgres/columns.hpp"
#include "stores/postgres/connection.hpp"
#include "stores/postgres/schema.hpp"
#include "stores/postgres/shortcuts.hpp"
#include "stores/postgres/statements.hpp"

namespace leasehold::postgres {
namespace {

// The plans must be the same whether a table has ten rows or ten million, and whatever its
// statistics say: always by the indexes. Nothing here waits long for anybody, and a transaction of
// ours that was forgotten (the process was paused) does not hold its rows for ever.
constexpr const char* working_settings = R"(
set plan_cache_mode = force_generic_plan;
set enable_seqscan = off;
set enable_hashjoin = off;
set enable_mergejoin = off;
set jit = off;
set default_transaction_isolation = 'read committed';
set default_transaction_read_only = off;
set lock_timeout = '10ms';
set idle_in_transaction_session_timeout = '10s')";

// What another transaction can do to ours: then it is done again.
bool is_conflict(const ServerError& error) {
    return error.state == "23505" ||  // somebody inserted the same key
           error.state == "40001" || error.state == "40P01" || error.state == "55P03";
}

// poll() and the driver count milliseconds in an int.
StoreOptions bounded(StoreOptions options) {
    options.io_timeout = std::min<Duration>(options.io_timeout, std::chrono::days{24});
    return options;
}

class PostgresStore final : public CellStore {
public:
    PostgresStore(const std::string& conninfo, const StoreOptions& options)
        : CellStore{bounded(options)},
          connection_{conninfo, options_.io_timeout, [this](PGconn* fresh) { greet(fresh); }} {
        try {
            (void)now();
        } catch (const Conflict&) {
            throw StoreFault{StoreFault::Effect::none, StoreFault::Cause::unavailable,
                             "postgres: somebody has locked the table `leasehold`"};
        }
    }

    [[nodiscard]] StoreStatus status() override {
        const std::lock_guard lock{status_mutex_};
        return status_;
    }

protected:
    bool shortcut(std::span<const Request> requests, std::span<const std::size_t> which,
                  std::span<Outcome> outcomes) override {
        const Time floor = clock_.floor();
        Shortcuts shortcuts{floor, options_.history};
        for (const std::size_t index : which) {
            std::visit([&](const auto& request) { shortcuts.add(index, request); },
                       requests[index]);
        }
        const std::vector<Command> commands = shortcuts.commands();
        const auto asked = SteadyClock::now();
        const std::vector<Rows> answers =
            run(commands, shortcuts.only_checks() ? Commits::no : Commits::yes);
        const Time latest = shortcuts.take(answers, outcomes);
        if (latest == Time{}) return true;
        note_shortcut(floor, latest, asked, shortcuts.only_checks() ? Changed::no : Changed::yes);
        return true;
    }

    Begun begin() override {
        // Sent together with the load that follows.
        transaction_ = Transaction::wanted;
        return Begun::writing;
    }

    void load(Work& work) override {
        std::vector<Command> commands;
        const bool locking = transaction_ == Transaction::wanted;
        if (locking) commands.push_back({sql::begin});
        KeyColumns to_lock, all;
        std::vector<Slot*> locked;
        for (Slot& slot : work.slots) {
            all.add(slot.key);
            if (!locking || slot.intent != Slot::Intent::change) continue;
            to_lock.add(slot.key);
            locked.push_back(&slot);
        }
        // Read after they were locked: what is ours is as it will stay.
        if (!locked.empty()) {
            commands.push_back(
                {sql::lock_rows, Parameters{}.texts(to_lock.types).texts(to_lock.ids)});
        }
        commands.push_back({sql::read_rows, Parameters{}.texts(all.types).texts(all.ids)});
        if (!work.lock_ids.empty()) {
            commands.push_back({sql::read_past, Parameters{}.texts(texts_of(work.lock_ids))});
        }
        commands.push_back({sql::clock});

        const std::vector<Rows> answers = run(commands, Commits::no);
        std::size_t at = locking ? 1 : 0;
        take_rows(answers[locked.empty() ? at : at + 1], work.slots);
        if (!locked.empty()) {
            for (Slot* slot : locked) {
                if (slot->state == Slot::State::ours) slot->state = Slot::State::blocked;
            }
            const Rows& ours = answers[at++];
            for (int row = 0; row < ours.size(); ++row) {
                locked[static_cast<std::size_t>(ours.integer(row, 0)) - 1]->state =
                    Slot::State::ours;
            }
        }
        ++at;
        if (!work.lock_ids.empty()) {
            const Rows& past = answers[at++];
            for (int row = 0; row < past.size(); ++row) {
                Ended ended = ended_at(past, row);
                const LockId id = ended.ending->grant.lock_id;
                work.past.insert_or_assign(id, std::move(ended));
            }
        }
        work.reading = clock_at(answers[at]);  // lab: clock
    }

    void save_and_commit(Work& work) override {
        std::vector<Command> commands;
        LockColumns changed, added;
        KeyColumns forgotten;
        ShareColumns shares;
        KeyColumns unshared;
        std::vector<std::string> unshared_ids;
        HistoryColumns history;
        for (const Slot& slot : work.slots) {
            if (slot.forget) {
                forgotten.add(slot.key);
            } else if (slot.cell.changed) {
                (slot.state == Slot::State::missing ? added : changed).add(slot.key, row_of(slot));
            } else {
                continue;
            }
            const ShareChanges share = share_changes(slot);
            for (const Grant* grant : share.written) shares.add(slot.key, *grant);
            for (const LockId& id : share.removed) {
                unshared.add(slot.key);
                unshared_ids.push_back(id.to_string());
            }
        }
        for (const Ended& ended : work.endings) history.add(ended);

        if (!changed.types.empty()) commands.push_back({sql::update_rows, changed.parameters()});
        if (!added.types.empty()) commands.push_back({sql::insert_rows, added.parameters()});
        if (!forgotten.types.empty()) {
            commands.push_back(
                {sql::delete_rows, Parameters{}.texts(forgotten.types).texts(forgotten.ids)});
        }
        if (!unshared_ids.empty()) {
            commands.push_back(
                {sql::delete_shares,
                 Parameters{}.texts(unshared.types).texts(unshared.ids).texts(unshared_ids)});
        }
        if (!shares.types.empty()) commands.push_back({sql::write_shares, shares.parameters()});
        if (!history.types.empty()) commands.push_back({sql::add_history, history.parameters()});
        if (work.raise_floor_to > Time{}) {
            commands.push_back({sql::raise_floor, Parameters{}.time(work.raise_floor_to)});
        }
        commands.push_back({sql::commit});
        run(commands, Commits::yes);
        transaction_ = Transaction::none;
    }

    void rollback() noexcept override {
        if (std::exchange(transaction_, Transaction::none) != Transaction::open) return;
        try {
            connection_.run_one({sql::rollback});
        } catch (...) {
            connection_.close();
        }
    }

    std::unordered_map<LockId, LockKey> locate(std::span<const LockId> lock_ids) override {
        const Rows rows = run_one({sql::locate, Parameters{}.texts(texts_of(lock_ids))});
        std::unordered_map<LockId, LockKey> keys;
        for (int row = 0; row < rows.size(); ++row) {
            keys.emplace(lock_id_from(rows.text(row, 0)), key_at(rows, row, 1));
        }
        return keys;
    }

    std::vector<LockKey> keys_of(const std::string& owner, OwnerScope scope) override {
        const PathRange below{owner};
        const bool path = scope == OwnerScope::below;
        const Rows rows = run_one(
            {sql::keys_of,
             Parameters{}.text(owner).text(path ? below.from : "").text(path ? below.before : "")});
        std::vector<LockKey> keys;
        for (int row = 0; row < rows.size(); ++row) keys.push_back(key_at(rows, row, 0));
        sort_and_unite(keys);
        return keys;
    }

    std::vector<Candidate> scan(const std::optional<LockKey>& after, std::size_t limit,
                                Time moment) override {
        const Rows rows = run_one({sql::scan, Parameters{}
                                                  .text(after ? after->type() : "")
                                                  .text(after ? after->id() : "")
                                                  .time(moment)
                                                  .integer(static_cast<std::int64_t>(limit))});
        std::vector<Candidate> candidates;
        for (int row = 0; row < rows.size(); ++row) {
            candidates.push_back({key_at(rows, row, 0), rows.integer(row, 2) != 0});
        }
        return candidates;
    }

    ClockReading read_clock() override { return clock_at(run_one({sql::clock})); }

    void raise_floor(Time floor) noexcept override {
        try {
            connection_.run_one({sql::raise_floor, Parameters{}.time(floor)});
        } catch (...) {
            connection_.close();
        }
    }

    std::vector<Holder> list(const List& request, Time now) override {
        const PathRange below{request.owner.value_or("")};
        const bool path = request.scope == OwnerScope::below;
        const Rows rows =
            run_one({sql::list, Parameters{}
                                    .time(now)
                                    .text(request.after ? request.after->key.type() : "")
                                    .text(request.after ? request.after->key.id() : "")
                                    .integer(request.after ? request.after->fence : 0)
                                    .text(request.type.value_or(""))
                                    .integer(request.owner ? 1 : 0)
                                    .text(request.owner.value_or(""))
                                    .text(path ? below.from : "")
                                    .text(path ? below.before : "")
                                    .integer(static_cast<std::int64_t>(request.limit))});
        std::vector<Holder> holders;
        for (int row = 0; row < rows.size(); ++row) {
            holders.push_back({.key = key_at(rows, row, 0),
                               .owner = std::string{rows.text(row, 2)},
                               .mode = mode_from(rows.integer(row, 3)),
                               .fence = rows.integer(row, 4),
                               .granted_at = rows.time(row, 5),
                               .expires_at = rows.time(row, 6),
                               .note = std::string{rows.text(row, 7)}});
        }
        return holders;
    }

    std::vector<PastLease> history(const History& request, Time oldest) override {
        Parameters parameters;
        parameters.integer(request.before.value_or(INT64_MAX))
            .time(oldest)
            .integer(static_cast<std::int64_t>(request.limit));
        if (request.key) parameters.text(request.key->type()).text(request.key->id());
        const Rows rows =
            run_one({request.key ? sql::history_of_key : sql::history, std::move(parameters)});
        std::vector<PastLease> page;
        for (int row = 0; row < rows.size(); ++row) {
            page.push_back(to_past(ended_at(rows, row), rows.integer(row, 13)));
        }
        return page;
    }

    std::size_t forget_history(Time before, std::size_t limit) override {
        const Rows rows =
            run_one({sql::forget_history,
                     Parameters{}.time(before).integer(static_cast<std::int64_t>(limit))});
        return static_cast<std::size_t>(rows.affected());
    }

private:
    enum class Transaction { none, wanted, open };

    void greet(PGconn* fresh) {
        Conversation talk{fresh, options_.io_timeout};
        StoreStatus status = read_status(talk);
        require_durability(options_, status);
        migrate(talk);
        talk.execute(working_settings);  // lab: settings
        const std::lock_guard lock{status_mutex_};
        status_ = std::move(status);
    }

    std::vector<Rows> run(std::span<const Command> commands, Commits commits) {
        try {
            if (transaction_ != Transaction::open) connection_.revive();
            if (transaction_ == Transaction::wanted) transaction_ = Transaction::open;
            return connection_.run(commands, commits);
        } catch (const ServerError& error) {
            if (is_conflict(error)) throw Conflict{};
            rollback();
            fail(error);
        } catch (const StoreFault&) {
            transaction_ = Transaction::none;
            throw;
        }
    }

    Rows run_one(const Command& command) {
        return std::move(run({&command, 1}, Commits::no).front());
    }

    static ClockReading clock_at(const Rows& rows) { return {rows.time(0, 0), rows.time(0, 1)}; }

    static void take_rows(const Rows& rows, std::vector<Slot>& slots) {
        for (int row = 0; row < rows.size(); ++row) {
            Slot& slot = slots[static_cast<std::size_t>(rows.integer(row, 0)) - 1];
            slot.state = Slot::State::ours;
            slot.row = lock_row_at(rows, row);
            if (!rows.text(row, 13).empty()) slot.shares.push_back(share_at(rows, row));
        }
    }

    std::mutex status_mutex_;
    StoreStatus status_;  // guarded by status_mutex_
    Connection connection_;
    Transaction transaction_ = Transaction::none;
};

}  // namespace

std::unique_ptr<Store> open(const std::string& conninfo, StoreOptions options) {
    return std::make_unique<PostgresStore>(conninfo, options);
}

}  // namespace leasehold::postgres
