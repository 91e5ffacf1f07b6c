#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <leasehold/stores/postgres.hpp>

#include "conformance/conformance.hpp"
#include "conformance/mariadb_harness.hpp"
#include "conformance/postgres_harness.hpp"
#include "conformance/random_cells.hpp"
#include "core/columns.hpp"
#include "core/fresh_lock_id.hpp"
#include "core/lock_row.hpp"
#include "core/rules.hpp"
#include "support/private_server.hpp"
#include "support/tcp_gate.hpp"

// PostgreSQL, MySQL and MariaDB answer common requests in one round trip, whose SQL repeats some of
// the rules in SQL. These tests compare every answer, and every row that it leaves, with the Rules.
//
// 1. Random cells are written to the tables with plain SQL.
// 2. The store is asked one random request about each cell.
// 3. The Rules decide the same request on the same cell at the time that the store's answer tells.
// 4. The answer, the row, its shares and its history must be what the Rules say.
namespace leasehold::conformance {
namespace {

// A database with plain SQL, and a store on it whose round trips are counted.
class Server {
public:
    using Rows = std::vector<std::vector<std::string>>;

    explicit Server(std::uint16_t port) : gate_{"127.0.0.1", port} {}
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;
    virtual ~Server() = default;

    [[nodiscard]] virtual std::unique_ptr<Store> open(StoreOptions options) = 0;
    virtual Rows run(const std::string& sql) = 0;
    [[nodiscard]] virtual std::string literal(Time time) const = 0;
    // An expression for the microseconds of a column with a time.
    [[nodiscard]] virtual std::string micros_of(const std::string& column) const = 0;
    // The same for the expiry in table `locks`.
    [[nodiscard]] virtual std::string expiry(Time time) const { return literal(time); }
    [[nodiscard]] virtual std::string micros_of_expiry() const {
        return micros_of("expiration_time");
    }
    [[nodiscard]] virtual Time clock() = 0;

    [[nodiscard]] std::size_t round_trips() const { return gate_.answers(); }

protected:
    [[nodiscard]] std::uint16_t gate_port() const { return gate_.port(); }

private:
    leasehold::testing::TcpGate gate_;
};

class PostgresServer final : public Server {
public:
    PostgresServer() : Server{leasehold::testing::shared_postgres().port()} {}
    std::unique_ptr<Store> open(StoreOptions options) override {
        return postgres::open(leasehold::testing::shared_postgres().url("locks", gate_port()),
                              options);
    }
    Rows run(const std::string& sql) override { return connection_.run(sql); }
    std::string literal(Time time) const override {
        if (time == never) return "'infinity'";
        if (time == Time{}) return "'-infinity'";
        return "'epoch'::timestamptz + " + std::to_string(micros(time)) +
               " * interval '1 microsecond'";
    }
    std::string micros_of(const std::string& column) const override {
        return "case " + column + " when 'infinity' then " + std::to_string(micros(never)) +
               " when '-infinity' then 0 else (extract(epoch from " + column +
               ") * 1000000)::bigint end";
    }
    Time clock() override {
        return time_from(std::stoll(run("select (extract(epoch from clock_timestamp()) * "
                                        "1000000)::bigint")
                                        .front()
                                        .front()));
    }

private:
    PostgresConnection connection_;
};

class MariadbServer final : public Server {
public:
    explicit MariadbServer(MariadbOr product)
        : Server{login_of_the_tests(product).port}, product_{product}, connection_{product} {}
    std::unique_ptr<Store> open(StoreOptions options) override {
        mariadb::Login target = login_of_the_tests(product_);
        target.port = gate_port();
        return open_store_of_the_tests(product_, target, options);
    }
    Rows run(const std::string& sql) override { return connection_.run(sql); }
    std::string literal(Time time) const override { return std::to_string(micros(time)); }
    std::string micros_of(const std::string& column) const override { return column; }
    std::string expiry(Time time) const override {
        if (time == never) return "'9999-12-31 23:59:59.999999'";
        return "timestamp'1970-01-01 00:00:00' + interval " + literal(time) + " microsecond";
    }
    std::string micros_of_expiry() const override {
        return "if(expiration_time >= '9999-12-31', " + literal(never) +
               ", timestampdiff(microsecond, '1970-01-01', expiration_time))";
    }
    Time clock() override {
        return time_from(std::stoll(
            run("select cast(unix_timestamp(sysdate(6)) * 1000000 as signed)").front().front()));
    }

private:
    const MariadbOr product_;
    MariadbConnection connection_;
};

LockId id_meant_by(const Request& request) {
    return std::visit(
        []<class R>(const R& r) -> LockId {
            if constexpr (requires { r.lock_id; }) {
                return r.lock_id;
            } else {
                return LockId{};
            }
        },
        request);
}

// Reads and writes cells with SQL that shares nothing with the store's.
class Tables {
public:
    explicit Tables(Server& server) : server_{server} {}

    void put(const std::vector<Case>& cases) {
        std::vector<std::string> locks, shares, history;
        for (const Case& each : cases) {
            if (each.slot.state == Slot::State::ours) {
                locks.push_back(lock_values(each.slot.key, each.slot.row));
            }
            for (const Grant& share : each.slot.shares) {
                shares.push_back(
                    "(" +
                    texts({each.slot.key.type(), each.slot.key.id(), share.lock_id.to_string(),
                           share.owner, share.note, share.token_id}) +
                    ", " + times({share.expires_at, share.granted_at}) + ", " +
                    std::to_string(share.fence) + ")");
            }
            if (each.past) history.push_back(history_values(*each.past));
            if (each.elsewhere) {
                const Time now = server_.clock();
                LockRow row;
                row.lock_id = id_meant_by(each.request);
                row.fence = 1;
                row.granted_at = row.touched_at = now;
                row.expires_at = now + 1h;
                locks.push_back(lock_values(*each.elsewhere, row));
            }
        }
        insert(
            "locks (type, id, lockid, owner, note, token_id, ended_by, ended_why, expiration_time, "
            "granted_at, touched_at, ended_at, mode, fence, ended)",
            locks);
        insert(
            "lock_shares (type, id, lockid, owner, note, token_id, expiration_time, granted_at, "
            "fence)",
            shares);
        insert(
            "lock_history (type, id, lockid, owner, note, token_id, ended_by, ended_why, "
            "granted_at, "
            "expiration_time, ended_at, mode, fence, ended)",
            history);
    }

    // Everything that the database contains about the cells, as text, by the ids of their keys.
    // Empties the tables.
    std::map<std::string, std::string> take() {
        std::map<std::string, std::string> texts;
        const auto add = [&](const std::string& table, const std::string& columns,
                             const std::string& order) {
            for (const auto& row : server_.run("select id, " + columns + " from " + table +
                                               " where type = 'Cell' order by " + order)) {
                std::string& text = texts[row.front()] += "\n" + table;
                for (std::size_t i = 1; i < row.size(); ++i) text += " | " + row[i];
            }
            server_.run("delete from " + table);
        };
        const auto time = [&](const char* column) { return server_.micros_of(column); };
        add("locks",
            "case when mode = 1 and ended = 0 then '' else lockid end, owner, note, token_id, "
            "ended_by, ended_why, " +
                server_.micros_of_expiry() + ", " + time("granted_at") + ", " + time("touched_at") +
                ", " + time("ended_at") + ", mode, fence, ended",
            "1");
        add("lock_shares",
            "lockid, owner, note, token_id, " + time("expiration_time") + ", " +
                time("granted_at") + ", fence",
            "fence");
        add("lock_history",
            "lockid, owner, note, token_id, ended_by, ended_why, " + time("granted_at") + ", " +
                time("expiration_time") + ", " + time("ended_at") + ", mode, fence, ended",
            "lockid");
        return texts;
    }

    // The same text for the result of the Rules.
    static std::string expected(const Case& each, const std::vector<Ended>& endings) {
        std::string text;
        const Slot& slot = each.slot;
        if (slot.state == Slot::State::ours || slot.cell.changed) {
            const LockRow row = slot.cell.changed ? row_of(slot) : slot.row;
            const bool stands_for_shares = row.mode == Mode::shared && row.ended == Gone::unknown;
            text +=
                line("locks", stands_for_shares ? "" : row.lock_id.to_string(), row.owner, row.note,
                     row.token_id, row.ended_by, row.ended_why, micros(row.expires_at),
                     micros(row.granted_at), micros(row.touched_at), micros(row.ended_at),
                     number_of(row.mode), row.fence, number_of(row.ended));
        }
        std::vector<Grant> shares = slot.cell.grants;
        std::ranges::sort(shares, {}, &Grant::fence);
        for (const Grant& share : shares) {
            if (share.mode != Mode::shared) continue;
            text += line("lock_shares", share.lock_id.to_string(), share.owner, share.note,
                         share.token_id, micros(share.expires_at), micros(share.granted_at),
                         share.fence);
        }
        std::vector<Ended> history = endings;
        if (each.past && each.past->key == slot.key) history.push_back(*each.past);
        std::ranges::sort(history, {}, [](const Ended& ended) {
            return ended.ending->grant.lock_id.to_string();
        });
        for (const Ended& ended : history) {
            const Ending& ending = *ended.ending;
            text += line("lock_history", ending.grant.lock_id.to_string(), ending.grant.owner,
                         ending.grant.note, ending.grant.token_id, ending.by, ending.why,
                         micros(ending.grant.granted_at), micros(ending.grant.expires_at),
                         micros(ending.at), number_of(ending.grant.mode), ending.grant.fence,
                         number_of(ending.how));
        }
        return text;
    }

private:
    static std::string line(const char* table, const auto&... values) {
        std::ostringstream text;
        text << '\n' << table;
        ((text << " | " << values), ...);
        return text.str();
    }
    static std::string texts(const std::vector<std::string_view>& values) {
        std::string sql;
        for (const std::string_view value : values) {
            sql += (sql.empty() ? "'" : ", '") + std::string{value} + "'";
        }
        return sql;
    }
    [[nodiscard]] std::string times(const std::vector<Time>& values) const {
        std::string sql;
        for (const Time value : values) sql += (sql.empty() ? "" : ", ") + server_.literal(value);
        return sql;
    }
    [[nodiscard]] std::string lock_values(const LockKey& key, const LockRow& row) const {
        return "(" +
               texts({key.type(), key.id(), row.lock_id.to_string(), row.owner, row.note,
                      row.token_id, row.ended_by, row.ended_why}) +
               ", " + server_.expiry(row.expires_at) + ", " +
               times({row.granted_at, row.touched_at, row.ended_at}) + ", " +
               std::to_string(number_of(row.mode)) + ", " + std::to_string(row.fence) + ", " +
               std::to_string(number_of(row.ended)) + ")";
    }
    [[nodiscard]] std::string history_values(const Ended& ended) const {
        const Ending& ending = *ended.ending;
        const Grant& grant = ending.grant;
        return "(" +
               texts({ended.key.type(), ended.key.id(), grant.lock_id.to_string(), grant.owner,
                      grant.note, grant.token_id, ending.by, ending.why}) +
               ", " + times({grant.granted_at, grant.expires_at, ending.at}) + ", " +
               std::to_string(number_of(grant.mode)) + ", " + std::to_string(grant.fence) + ", " +
               std::to_string(number_of(ending.how)) + ")";
    }
    void insert(const std::string& into, const std::vector<std::string>& values) {
        if (values.empty()) return;
        std::string sql = "insert into " + into + " values ";
        for (const std::string& row : values) sql += (&row == values.data() ? "" : ", ") + row;
        server_.run(sql);
    }

    Server& server_;
};

std::optional<Time> time_of(const Outcome& outcome) {
    if (const auto* lease = std::get_if<Lease>(&outcome)) return lease->store_now;
    if (const auto* refusal = std::get_if<Refusal>(&outcome)) return refusal->store_now;
    return std::nullopt;
}

std::string text_of(const Outcome& outcome) {
    std::ostringstream text;
    if (const auto* lease = std::get_if<Lease>(&outcome)) {
        text << "lease " << lease->key.id() << ' ' << lease->lock_id.to_string() << ' '
             << lease->owner << ' ' << to_string(lease->mode) << ' ' << lease->fence << ' '
             << micros(lease->granted_at) << ' ' << micros(lease->expires_at) << " '" << lease->note
             << "' at " << micros(lease->store_now);
    } else if (const auto* refusal = std::get_if<Refusal>(&outcome)) {
        text << to_string(refusal->kind) << ' ' << to_string(refusal->reason) << " by '"
             << refusal->by << "' because '" << refusal->why << "' at "
             << micros(refusal->store_now);
        for (const Holder& holder : refusal->holders) text << "; fence " << holder.fence;
    } else if (const auto* fault = std::get_if<StoreFault>(&outcome)) {
        text << "fault: " << fault->what();
    } else {
        text << "another kind of answer";
    }
    return text.str();
}

Outcome decided(Case& each, Time now, std::vector<Ended>& endings) {
    if (const auto* wanted = std::get_if<TryLock>(&each.request);
        wanted != nullptr && each.elsewhere && !FreshLockId::is_fresh(wanted->lock_id)) {
        return id_of_another_key();
    }
    const StoreClock steady{Duration::max()};
    const PastLookup past = [&](LockId id) {
        return each.past && each.past->ending->grant.lock_id == id ? each.past : std::nullopt;
    };
    Rules rules{now, steady, past, endings};
    const LockKey& key = each.slot.key;
    Cell& cell = each.slot.cell;
    return std::visit(
        [&]<class R>(const R& request) -> Outcome {
            if constexpr (std::is_same_v<R, TryLock>) {
                return rules.decide(request, cell);
            } else if constexpr (requires { rules.decide(request, key, cell); }) {
                return rules.decide(request, key, cell);
            } else {
                return {};
            }
        },
        each.request);
}

// Whether a store may try a shortcut for the request. Any other request ends the run of shortcuts
// in a batch.
bool is_plain(const Case& each) {
    return std::visit(
        []<class R>(const R& request) {
            if constexpr (std::is_same_v<R, TryLock>) {
                return request.mode == Mode::exclusive && !request.since &&
                       request.ttl != until_released;
            } else if constexpr (std::is_same_v<R, Renew>) {
                return request.ttl != until_released;
            } else if constexpr (std::is_same_v<R, Extend>) {
                return request.max_ttl != until_released;
            } else if constexpr (std::is_same_v<R, Release>) {
                return !request.if_expires_at.has_value();
            } else {
                return true;
            }
        },
        each.request);
}

class Shortcuts : public SqlConformanceTest {
protected:
    [[nodiscard]] static std::unique_ptr<Server> connect() {
        if (GetParam().name == "postgres") return std::make_unique<PostgresServer>();
        return std::make_unique<MariadbServer>(GetParam().name == "mysql" ? MariadbOr::mysql
                                                                          : MariadbOr::mariadb);
    }
};

TEST_P(Shortcuts, AnswerAndWriteWhatTheRulesSay) {
    const char* given = std::getenv("LEASEHOLD_SEED");
    const std::uint64_t seed = given != nullptr ? std::stoull(given) : std::random_device{}();
    SCOPED_TRACE("LEASEHOLD_SEED=" + std::to_string(seed));
    std::cout << "[   SEED   ] " << seed << '\n';
    constexpr std::size_t rounds = 30;
    constexpr std::size_t cells = 100;

    const auto server = connect();
    const auto store = server->open({.max_clock_leap = Duration::max()});
    Tables tables{*server};
    RandomCases random{seed};
    std::size_t in_one_round_trip = 0;
    for (std::size_t round = 0; round < rounds; ++round) {
        std::vector<Case> cases;
        const Time before = server->clock();
        for (std::size_t i = 0; i < cells; ++i) cases.push_back(random.next(before));
        tables.put(cases);

        // Alternates between single requests and all requests together: PostgreSQL has a statement
        // for each.
        const std::size_t together = round % 2 == 0 ? 1 : cells;
        std::ranges::partition(cases, is_plain);
        std::vector<Outcome> outcomes(cells);
        for (std::size_t i = 0; i < cells; i += together) {
            std::vector<Request> requests;
            for (std::size_t j = i; j < i + together; ++j) requests.push_back(cases[j].request);
            const std::size_t round_trips = server->round_trips();
            store->apply(requests, std::span{outcomes}.subspan(i, together));
            if (server->round_trips() - round_trips == 1) ++in_one_round_trip;
        }

        std::map<std::string, std::string> rows = tables.take();
        for (std::size_t i = 0; i < cells; ++i) {
            const std::string cell = Tables::expected(cases[i], {});
            const std::string key{cases[i].slot.key.id()};
            std::vector<Ended> endings;
            const Time now = time_of(outcomes[i]).value_or(before);
            EXPECT_GE(now, before);
            const Outcome wanted = decided(cases[i], now, endings);
            EXPECT_EQ(text_of(outcomes[i]), text_of(wanted))
                << "request " << cases[i].request.index() << " on" << cell;
            EXPECT_EQ(rows[key], Tables::expected(cases[i], endings))
                << "request " << cases[i].request.index() << " on" << cell;
        }
        if (HasFailure()) return;
    }
    // The store has used shortcuts, not only declined them.
    EXPECT_GE(in_one_round_trip, rounds / 2 * cells / 8);
}

// Counts the least number of round trips that each kind of request takes in several runs: the first
// use of a statement prepares it, and once a second a change also raises the floor.
class RoundTrips {
public:
    explicit RoundTrips(Server& server) : server_{server}, store_{server.open({})} {}

    void ask(const std::string& what, const Request& request) {
        Outcome outcome;
        const std::size_t before = server_.round_trips();
        store_->apply({&request, 1}, {&outcome, 1});
        const std::size_t taken = server_.round_trips() - before;
        const auto at = least_.emplace(what, taken).first;
        at->second = std::min(at->second, taken);
    }
    [[nodiscard]] const std::map<std::string, std::size_t>& least() const { return least_; }

private:
    Server& server_;
    std::unique_ptr<Store> store_;
    std::map<std::string, std::size_t> least_;
};

constexpr int runs = 6;

TryLock fresh_try(const LockKey& key, const std::string& owner) {
    return {.key = key, .lock_id = FreshLockId::draw(), .owner = owner, .ttl = 1min};
}

// docs/life-of-a-request.md has these numbers.
TEST_P(Shortcuts, TakeOneRoundTrip) {
    const auto server = connect();
    RoundTrips round_trips{*server};
    for (int run = 0; run < runs; ++run) {
        const LockKey key{"Order", std::to_string(run)};
        const TryLock first = fresh_try(key, "alice");
        const LockId id = first.lock_id;
        round_trips.ask("a try of a key that was never locked", first);
        round_trips.ask("a try by the owner that has the key", fresh_try(key, "alice"));
        round_trips.ask("a check", Check{key, id});
        round_trips.ask("a renewal", Renew{key, id, 3min});
        round_trips.ask("an extension",
                        Extend{.key = key, .lock_id = id, .by = 1min, .max_ttl = 24h});
        round_trips.ask("a release", Release{key, id});
        TryLock named = fresh_try(key, "bob");
        FreshLockId::mark_as_sent(named.lock_id);
        round_trips.ask("a try of a free key with a lock id of the caller's", named);
    }
    for (const auto& [what, least] : round_trips.least()) EXPECT_EQ(least, 1U) << what;
}

class PostgresRoundTrips : public Shortcuts {};

TEST_P(PostgresRoundTrips, AreThoseThatTheDocumentationPromises) {
    const auto server = connect();
    RoundTrips round_trips{*server};
    for (int run = 0; run < runs; ++run) {
        const LockKey key{"Order", std::to_string(run)};
        round_trips.ask("shared", [&] {
            TryLock shared = fresh_try({"Page", std::to_string(run)}, "alice");
            shared.mode = Mode::shared;
            return shared;
        }());
        round_trips.ask("granted", fresh_try(key, "alice"));
        round_trips.ask("held", fresh_try(key, "bob"));
        server->run("update locks set expiration_time = granted_at where id = '" +
                    std::string{key.id()} + "'");
        round_trips.ask("expired", fresh_try(key, "bob"));
    }
    EXPECT_EQ(round_trips.least(),
              (std::map<std::string, std::size_t>{
                  {"granted", 1}, {"held", 2}, {"shared", 2}, {"expired", 4}}));
}

const std::vector<UnderTest<SqlHarness>> with_shortcuts{{"postgres", make_postgres_harness},
                                                        {"mysql", make_mysql_harness},
                                                        {"mariadb", make_mariadb_harness}};
LEASEHOLD_ON(with_shortcuts, Shortcuts);
LEASEHOLD_ON(only_postgres(), PostgresRoundTrips);

}  // namespace
}  // namespace leasehold::conformance
