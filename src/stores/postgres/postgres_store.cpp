#include <leasehold/stores/postgres.hpp>

#include <libpq-fe.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/cell_store.hpp"
#include "core/lane_store.hpp"
#include "core/retry.hpp"
#include "stores/postgres/columns.hpp"
#include "stores/postgres/connection.hpp"
#include "stores/postgres/pooler.hpp"
#include "stores/postgres/schema.hpp"
#include "stores/postgres/shortcuts.hpp"
#include "stores/postgres/statements.hpp"
#include "stores/postgres/waits.hpp"
#include "stores/postgres/watch.hpp"

namespace leasehold::postgres {
namespace {

// The plans must use the indexes, whether a table has ten rows or ten million, and whatever its
// statistics say. No statement waits long for another transaction. If this process is paused, its
// open transaction does not keep its rows locked for ever.
constexpr std::string_view working_settings = R"(
set plan_cache_mode = force_generic_plan;
set enable_seqscan = off;
set enable_hashjoin = off;
set enable_mergejoin = off;
set jit = off;
set default_transaction_isolation = 'read committed';
set default_transaction_read_only = off;
set lock_timeout = '{lock_patience}';
set idle_in_transaction_session_timeout = '10s')";

// Whether another transaction made this one fail. It is then repeated.
bool is_conflict(const ServerError& error) {
    return error.state == "23505" ||  // another transaction inserted the same key
           error.state == "40001" || error.state == "40P01" || error.state == "55P03";
}

// poll() and the driver count milliseconds in an int.
StoreOptions bounded(StoreOptions options) {
    options.io_timeout = std::min<Duration>(options.io_timeout, std::chrono::days{24});
    return options;
}

class PostgresStore final : public CellStore {
public:
    PostgresStore(const SchemaSteps& steps, const std::string& conninfo,
                  const StoreOptions& options, std::shared_ptr<StoreClock> clock)
        : CellStore{bounded(options), {}, std::move(clock)},
          steps_{steps},
          conninfo_{conninfo},
          connection_{conninfo, options_.io_timeout, [this](PGconn* fresh) { greet(fresh); }} {
        try {
            (void)now();
        } catch (const Conflict&) {
            throw StoreFault{StoreFault::Effect::none, StoreFault::Cause::unavailable,
                             "postgres: another session has locked the table `leasehold`"};
        }
    }

    [[nodiscard]] std::unique_ptr<StoreWatch> open_watch() override {
        return make_watch(conninfo_, options_.io_timeout);
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
        notify(shortcuts.numbers_to_notify(answers));
        if (latest == Time{}) return true;
        note_shortcut(floor, latest, asked, shortcuts.only_checks() ? Changed::no : Changed::yes);
        return true;
    }

    Begun begin() override {
        // Sent with the statements of the load that follows.
        transaction_ = Transaction::wanted;
        return Begun::writing;
    }

    void load(Work& work) override {
        std::vector<Command> commands;
        const bool locking = transaction_ == Transaction::wanted;
        if (locking) commands.push_back({sql::begin});
        std::vector<Slot*> to_lock;
        if (locking) {
            for (Slot& slot : work.slots) {
                if (slot.intent == Slot::Intent::change) to_lock.push_back(&slot);
            }
        }
        // The rows are read after they were locked, so that ours cannot change any more.
        if (!to_lock.empty()) {
            commands.push_back({sql::lock_rows, leasehold::postgres::keys_of(to_lock, &Slot::key)});
        }
        commands.push_back({sql::read_rows, leasehold::postgres::keys_of(work.slots, &Slot::key)});
        if (!work.lock_ids.empty()) {
            commands.push_back(
                {sql::read_past, Parameters{}.texts(work.lock_ids, &LockId::to_string)});
        }
        commands.push_back({sql::clock});

        const std::vector<Rows> answers = run(commands, Commits::no);
        std::size_t at = locking ? 1 : 0;
        take_rows(answers[to_lock.empty() ? at : at + 1], work.slots);
        if (!to_lock.empty()) {
            for (Slot* slot : to_lock) {
                if (slot->state == Slot::State::ours) slot->state = Slot::State::blocked;
            }
            const Rows& ours = answers[at++];
            for (int row = 0; row < ours.size(); ++row) {
                to_lock[static_cast<std::size_t>(ours.integer(row, 0)) - 1]->state =
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
        std::vector<KeyedRow> changed, added;
        std::vector<const LockKey*> forgotten, freed;
        std::vector<KeyedShare> shares;
        std::vector<KeyedId> ended_shares;
        for (const Slot& slot : work.slots) {
            if (slot.forget) {
                forgotten.push_back(&slot.key);
            } else if (slot.cell.changed) {
                (slot.state == Slot::State::missing ? added : changed)
                    .push_back({&slot.key, row_of(slot)});
            } else {
                continue;
            }
            const ShareChanges share = share_changes(slot);
            for (const Grant* grant : share.written) shares.push_back({&slot.key, grant});
            for (const LockId& id : share.removed) ended_shares.push_back({&slot.key, id});
            const bool is_free = slot.cell.grants.empty() && !slot.forget;
            if (is_free || !share.removed.empty()) freed.push_back(&slot.key);
        }
        const auto key_of = [](const auto& row) -> const LockKey& { return *row.key; };
        const auto dereferenced = [](const LockKey* key) -> const LockKey& { return *key; };
        if (!changed.empty()) {
            commands.push_back(
                {sql::update_rows, fields_of(changed, key_of, lock_columns, &KeyedRow::row)});
        }
        if (!added.empty()) {
            commands.push_back(
                {sql::insert_rows, fields_of(added, key_of, lock_columns, &KeyedRow::row)});
        }
        if (!forgotten.empty()) {
            commands.push_back(
                {sql::delete_rows, leasehold::postgres::keys_of(forgotten, dereferenced)});
        }
        if (!ended_shares.empty()) {
            Parameters parameters = leasehold::postgres::keys_of(ended_shares, key_of);
            add_fields(parameters, ended_shares, &KeyedId::lock_id);
            commands.push_back({sql::delete_shares, std::move(parameters)});
        }
        if (!shares.empty()) {
            commands.push_back(
                {sql::write_shares,
                 fields_of(shares, key_of, share_columns,
                           [](const KeyedShare& share) -> const Grant& { return *share.grant; })});
        }
        if (!work.endings.empty()) {
            commands.push_back(
                {sql::add_history,
                 fields_of(work.endings, &Ended::key, history_columns,
                           [](const Ended& ended) -> const Ending& { return *ended.ending; })});
        }
        if (work.raise_floor_to > Time{}) {
            commands.push_back({sql::raise_floor, Parameters{}.time(work.raise_floor_to)});
        }
        // Before the commit, so that the answer says whom to notify after it.
        if (!freed.empty()) {
            commands.push_back(
                {sql::keys_to_notify, leasehold::postgres::keys_of(freed, dereferenced)});
        }
        commands.push_back({sql::commit});
        const std::vector<Rows> answers = run(commands, Commits::yes);
        transaction_ = Transaction::none;
        if (freed.empty()) return;
        const Rows& waited_for = answers[answers.size() - 2];
        std::vector<std::int64_t> numbers;
        for (int row = 0; row < waited_for.size(); ++row) {
            numbers.push_back(waited_for.integer(row, 0));
        }
        notify(numbers);
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
        const Rows rows = run_one({sql::locate, Parameters{}.texts(lock_ids, &LockId::to_string)});
        std::unordered_map<LockId, LockKey> keys;
        for (int row = 0; row < rows.size(); ++row) {
            keys.emplace(lock_id_from(rows.text(row, 0)), key_at(rows, row, 1));
        }
        return keys;
    }

    OwnedKeys keys_of(const std::string& owner, OwnerScope scope, std::size_t most) override {
        const PathRange below{owner};
        const bool path = scope == OwnerScope::below;
        const Rows rows =
            run_one({sql::keys_of, Parameters{}
                                       .text(owner)
                                       .text(path ? below.from : "")
                                       .text(path ? below.before : "")
                                       .integer(static_cast<std::int64_t>(most) + 1)});
        OwnedKeys owned{.rows = static_cast<std::size_t>(rows.size())};
        for (int row = 0; row < rows.size(); ++row) {
            if (rows.integer(row, 2) != 0) owned.keys.push_back(key_at(rows, row, 0));
        }
        sort_and_unite(owned.keys);
        return owned;
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

    ClockReading read_clock() override {
        const Command clock{sql::clock};
        return clock_at(run({&clock, 1}, Commits::no).front());
    }

    void raise_floor(Time floor) noexcept override {
        try {
            connection_.run_one({sql::raise_floor, Parameters{}.time(floor)});
        } catch (...) {
            connection_.close();
        }
    }

    std::optional<KeyPlace> place_behind(const KeyPlace& place, std::size_t rows) override {
        const Rows found =
            run_one({sql::place_behind, Parameters{}
                                            .text(place.type)
                                            .text(place.id)
                                            .integer(static_cast<std::int64_t>(rows) - 1)});
        if (found.size() == 0) return std::nullopt;
        return KeyPlace{std::string{found.text(0, 0)}, std::string{found.text(0, 1)}};
    }

    std::vector<Holder> list(const List& request, Time now, const KeyPlace& until) override {
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
                                    .integer(static_cast<std::int64_t>(request.limit))
                                    .text(until.type)
                                    .text(until.id)});
        std::vector<Holder> holders;
        for (int row = 0; row < rows.size(); ++row) {
            holders.push_back(to_holder(key_at(rows, row, 0), listed_at(RowAt{rows, row}, 2)));
        }
        return holders;
    }

    std::vector<PastLease> history(const History& request) override {
        Parameters parameters;
        parameters.integer(request.before.value_or(INT64_MAX))
            .integer(static_cast<std::int64_t>(request.limit));
        if (request.key) parameters.text(request.key->type()).text(request.key->id());
        const Rows rows =
            run_one({request.key ? sql::history_of_key : sql::history, std::move(parameters)});
        std::vector<PastLease> page;
        for (int row = 0; row < rows.size(); ++row) {
            page.push_back(to_past(ended_at(rows, row), rows.integer(row, sequence_column)));
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
        auto pooled = require_own_session(
            talk, [this] { return connect_to(conninfo_, options_.io_timeout); },
            options_.io_timeout);
        if (pooled) status.warnings.push_back(*std::move(pooled));
        require_durability(options_, status);
        migrate(talk, steps_, options_);
        warn_of_a_zone_in_the_west(talk, status);
        const std::string settings = sql_text(
            working_settings, {{"lock_patience", setting_of(retries::postgres_lock_patience)}});
        talk.execute(settings);  // lab: settings
        talk.execute("set leasehold.schema = " + std::to_string(steps_.size()));
        set_status(std::move(status));
    }

    std::vector<Rows> run(std::span<const Command> commands, Commits commits) {
        try {
            if (transaction_ != Transaction::open) connection_.revive();
            if (transaction_ == Transaction::wanted) transaction_ = Transaction::open;
            return connection_.run(commands, commits);
        } catch (const ServerError& error) {
            if (is_conflict(error)) throw Conflict{};
            rollback();
            explain_by_schema(error);
            fail(error);
        } catch (const StoreFault&) {
            transaction_ = Transaction::none;
            throw;
        }
    }

    // Tells the watches of other processes. If that fails, these find out when they ask again.
    void notify(const std::vector<std::int64_t>& numbers) noexcept {
        if (numbers.empty()) return;
        try {
            connection_.run_one({sql::notify, Parameters{}.integers(numbers)});
        } catch (const ServerError&) {
            // Another session was notifying.
        } catch (...) {
            connection_.close();
        }
    }

    // One statement outside a transaction, in one round trip with the version of the tables.
    Rows run_one(const Command& command) {
        std::vector<Rows> answers = run(std::array{command, Command{sql::clock}}, Commits::no);
        (void)clock_at(answers.back());
        return std::move(answers.front());
    }

    [[nodiscard]] ClockReading clock_at(const Rows& rows) const {
        require_version("postgres",
                        rows.size() > 0 ? static_cast<std::size_t>(rows.integer(0, 2)) : 0,
                        steps_.size());
        return {rows.time(0, 0), rows.time(0, 1)};
    }

    // A later version may have changed the tables so that our statements are not understood.
    void explain_by_schema(const ServerError& error) {
        if (!may_come_from_another_schema(error)) return;
        try {
            (void)clock_at(connection_.run_one({sql::clock}));
        } catch (const ServerError&) {
            // The first error tells more.
        }
    }

    static void take_rows(const Rows& rows, std::vector<Slot>& slots) {
        for (int row = 0; row < rows.size(); ++row) {
            Slot& slot = slots[static_cast<std::size_t>(rows.integer(row, 0)) - 1];
            slot.state = Slot::State::ours;
            slot.row = lock_row_at(RowAt{rows, row}, 1);
            constexpr int share = 1 + count_of(lock_columns);
            if (rows.text(row, share).empty()) continue;
            slot.shares.push_back(share_at(RowAt{rows, row}, share));
        }
    }

    const SchemaSteps steps_;
    const std::string conninfo_;
    Connection connection_;
    Transaction transaction_ = Transaction::none;
};

}  // namespace

std::unique_ptr<Store> open(const std::string& conninfo, StoreOptions options) {
    return open_with(schema_steps(), conninfo, options);
}

std::unique_ptr<Store> open_with(const SchemaSteps& steps, const std::string& conninfo,
                                 const StoreOptions& options, const LaneOptions& lanes) {
    return std::make_unique<LaneStore>(
        [=](std::shared_ptr<StoreClock> clock) {
            return std::make_unique<PostgresStore>(steps, conninfo, options, std::move(clock));
        },
        options, lanes);
}

}  // namespace leasehold::postgres
