// A database at a distance: a relay between Leasehold and the database delays each direction.
#include <leasehold/lock_manager.hpp>
#include <leasehold/open_store.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "cycle.hpp"
#include "distant_link.hpp"
#include "groups.hpp"
#include "load.hpp"
#include "mariadb_client.hpp"
#include "postgres_client.hpp"
#include "servers.hpp"

namespace leasehold::bench {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Micros = std::chrono::microseconds;

constexpr std::size_t callers_of_rows[] = {1, 8, 64, 512};
// Until Leasehold has found out how far away the database is, and has opened what it needs.
constexpr Seconds settling{2};

double percentile(std::vector<double>& values, std::size_t percent) {
    if (values.empty()) throw std::runtime_error{"nothing was answered"};
    const auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() * percent / 100);
    std::ranges::nth_element(values, at);
    return *at;
}

double micros_since(Clock::time_point begun) {
    return std::chrono::duration<double, std::micro>{Clock::now() - begun}.count();
}

// How much of all processors is in use, between two looks: 0 to 1.
class Processors {
public:
    Processors() { (void)used(); }
    double used() {
        std::ifstream file{"/proc/stat"};
        std::string cpu;
        file >> cpu;
        double total = 0, idle = 0, value = 0;
        for (int field = 0; field < 8 && file >> value; ++field) {
            total += value;
            if (field == 3 || field == 4) idle += value;
        }
        const double part = 1 - (idle - idle_) / std::max(total - total_, 1.0);
        idle_ = idle;
        total_ = total;
        return part;
    }

private:
    double idle_ = 0, total_ = 0;
};

// A database behind a link.
struct Distant {
    std::string name;  // "postgres, 1 ms"
    std::string url;
    DistantLink& link;
    // A statement that writes a row and commits, over the link.
    std::function<void()> commit;
};

// One round trip and one commit, in microseconds.
double round_trip_and_commit(const Distant& database) {
    std::vector<double> micros;
    for (int i = 0; i < 100; ++i) {
        const auto begun = Clock::now();
        database.commit();
        micros.push_back(micros_since(begun));
    }
    return percentile(micros, 50);
}

struct Taken {
    double p50_us = 0;
    double p99_us = 0;
    double requests_per_s = 0;
    double processors = 0;  // in use, 0 to 1
};

// Threads of one program that go through cycles.
Taken ask_library(LockManager& locks, std::size_t callers, Seconds duration) {
    std::mutex mutex;
    std::vector<double> all;
    Processors processors;
    const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(duration);
    {
        std::vector<std::jthread> threads;
        for (std::size_t caller = 0; caller < callers; ++caller) {
            threads.emplace_back([&, caller] {
                std::vector<double> micros;
                const auto timed = [&](const char* step, auto&& ask) {
                    const auto begun = Clock::now();
                    auto answer = ask();
                    micros.push_back(micros_since(begun));
                    expect(answer.has_value(), step);
                    return *std::move(answer);
                };
                for (std::uint64_t k = 0; Clock::now() < end; ++k) {
                    const LockKey key{cycle_type, cycle_id(caller, k)};
                    const LockId id = timed("try", [&] {
                                          return locks.try_lock(key, {.ttl = cycle_ttl});
                                      }).lock_id;
                    timed("check", [&] { return locks.check(key, id); });
                    timed("extend", [&] { return locks.extend(key, id, cycle_extension); });
                    timed("release", [&] { return locks.release(key, id); });
                }
                const std::lock_guard lock{mutex};
                all.insert(all.end(), micros.begin(), micros.end());
            });
        }
    }
    const double requests = static_cast<double>(all.size());
    return {.p50_us = percentile(all, 50),
            .p99_us = percentile(all, 99),
            .requests_per_s = requests / duration.count(),
            .processors = processors.used()};
}

// The clients of a server.
Taken ask_server(Contender& load, Seconds duration) {
    Processors processors;
    const Pace found = pace({"", load}, duration);
    return {.p50_us = load.p50().value().count() * 1e6,
            .p99_us = load.p99().value().count() * 1e6,
            .requests_per_s = found.cycles_per_s * cycle_requests,
            .processors = processors.used()};
}

void add_rows(const Distant& database, const std::string& who,
              const std::function<Taken()>& measure, const Settings& settings, Report& report) {
    std::vector<double> halves, nearly_alls, requests, processors;
    for (std::size_t round = 0; round < settings.rounds; ++round) {
        const double base = round_trip_and_commit(database);
        const Taken taken = measure();
        halves.push_back(taken.p50_us / base);
        nearly_alls.push_back(taken.p99_us / base);
        requests.push_back(taken.requests_per_s);
        processors.push_back(100 * taken.processors);
    }
    const auto add = [&](const char* what, const char* unit, std::vector<double> values,
                         std::optional<double> at_most) {
        std::optional<Goal> goal;
        if (at_most) goal = Goal{Goal::Direction::at_most, *at_most};
        report.add_measured({.group = "distance",
                             .name = database.name + ", " + who + ", " + what,
                             .leasehold = who,
                             .unit = unit,
                             .values = std::move(values),
                             .goal = goal});
    };
    constexpr const char* times = "times (round trip + commit)";
    add("p50", times, std::move(halves), 1.6);
    add("p99", times, std::move(nearly_alls), 3.0);
    add("requests", "requests/s", std::move(requests), {});
    add("processors", "% in use", std::move(processors), {});
}

// Of one caller: counted by the link.
void count_round_trips(const Distant& database, LockManager& locks, Report& report) {
    constexpr std::size_t times = 100;
    struct Step {
        const char* name;
        std::uint64_t trips = 0;
    };
    Step steps[] = {
        {"a free try"}, {"a try again by its owner"}, {"a check"}, {"a renewal"}, {"an extension"},
        {"a release"},  {"a try that is refused"}};
    const auto count = [&](Step& step, auto&& ask) {
        const std::uint64_t before = database.link.round_trips();
        ask();
        step.trips += database.link.round_trips() - before;
    };
    const LockOptions alice{.owner = "alice", .ttl = cycle_ttl};
    for (std::size_t i = 0; i < times; ++i) {
        const LockKey key{"Counted", std::to_string(i)};
        LockId id;
        count(steps[0], [&] { id = locks.try_lock(key, alice).value().lock_id; });
        count(steps[1], [&] { id = locks.try_lock(key, alice).value().lock_id; });
        count(steps[2], [&] { expect(locks.check(key, id).has_value(), "check"); });
        count(steps[3], [&] { expect(locks.renew(key, id, cycle_ttl).has_value(), "renew"); });
        count(steps[4],
              [&] { expect(locks.extend(key, id, cycle_extension).has_value(), "extend"); });
        count(steps[6], [&] { expect(!locks.try_lock(key, {.owner = "bob"}), "refusal"); });
        count(steps[5], [&] { expect(locks.release(key, id).has_value(), "release"); });
    }
    for (const Step& step : steps) {
        const bool has_goal = &step != std::end(steps) - 1;
        // Once in a while a request brings the store's clock up to date.
        report.add_measured(
            {.group = "distance",
             .name = database.name + ", round trips of " + step.name,
             .leasehold = "library, 1 caller",
             .unit = "round trips",
             .values = {static_cast<double>(step.trips) / times},
             .goal = has_goal ? std::optional{Goal{Goal::Direction::at_most, 1.1}} : std::nullopt});
    }
}

void measure(const Distant& database, const Settings& settings, Report& report) {
    report.add_measured({.group = "distance",
                         .name = database.name + ", round trip + commit",
                         .leasehold = "a statement that writes a row",
                         .unit = "us",
                         .values = {round_trip_and_commit(database)}});
    {
        LockManager locks{open_store(database.url)};
        count_round_trips(database, locks, report);
        for (const std::size_t callers : callers_of_rows) {
            (void)ask_library(locks, callers, settling);
            add_rows(
                database, "library, " + std::to_string(callers) + " callers",
                [&] { return ask_library(locks, callers, settings.round); }, settings, report);
        }
    }
    const PeerServer server = start_leasehold(database.url, {"--connections", "2000"});
    for (const std::size_t callers : callers_of_rows) {
        const auto load = make_load(server, make_leasehold_dialect(), callers);
        (void)pace({"", *load}, settling);
        add_rows(
            database, "server, " + std::to_string(callers) + " callers",
            [&] { return ask_server(*load, settings.round); }, settings, report);
    }
}

std::string distance_name(Micros round_trip) {
    return std::to_string(round_trip.count() / 1000) + " ms";
}

void measure_postgres(const std::string& name, const testing::PrivatePostgres& server,
                      Micros round_trip, const Settings& settings, Report& report) {
    DistantLink link{server.port(), round_trip / 2};
    PostgresClient client{server.url("locks", link.port())};
    client.execute("create table if not exists floor_writes (number bigint primary key)");
    client.execute("truncate floor_writes; insert into floor_writes values (1)");
    client.prepare("write", "update floor_writes set number = number + 1");
    measure({.name = name + ", " + distance_name(round_trip),
             .url = server.url("locks", link.port()) + "?durability=strict",
             .link = link,
             .commit = [&] { client.run("write"); }},
            settings, report);
}

template <class Server>
void measure_mariadb(const std::string& name, Server& server, Micros round_trip,
                     const Settings& settings, Report& report) {
    DistantLink link{server.port(), round_trip / 2};
    const std::string database = "distance" + std::to_string(round_trip.count());
    server.create_database(database);
    MariadbClient client{link.port(), database};
    client.execute("create table floor_writes (number bigint primary key)");
    client.execute("insert into floor_writes values (1)");
    MariadbStatement write = client.prepare("update floor_writes set number = number + 1");
    measure({.name = name + ", " + distance_name(round_trip),
             .url = server.url(database, link.port()) + "?durability=strict",
             .link = link,
             .commit = [&] { write.run(); }},
            settings, report);
}

// A primary that commits when its standby has flushed, and the standby is as far away.
void measure_standby(Micros round_trip, const Settings& settings, Report& report) {
    testing::PrivatePostgres primary{postgres_options()};
    const DistantLink link{primary.port(), round_trip / 2};
    const testing::PrivatePostgres standby{testing::PrivatePostgres::StandbyOf{link.port()},
                                           postgres_options()};
    PostgresClient admin{primary.url()};
    admin.execute("alter system set synchronous_standby_names = 'standby'");
    admin.execute("select pg_reload_conf()");
    admin.prepare("synchronous", "select 1 from pg_stat_replication where sync_state = 'sync'");
    for (int i = 0; admin.run("synchronous") == 0; ++i) {
        if (i == 100) throw std::runtime_error{"the standby does not become synchronous"};
        std::this_thread::sleep_for(100ms);
    }
    measure_postgres("postgres with a synchronous standby", primary, round_trip, settings, report);
}

}  // namespace

void run_distance(const Settings& settings, Report& report) {
    constexpr Micros round_trips[] = {1ms, 5ms};
    {
        const testing::PrivatePostgres server{postgres_options()};
        for (const Micros round_trip : round_trips) {
            measure_postgres("postgres", server, round_trip, settings, report);
        }
    }
    for (const Micros round_trip : round_trips) measure_standby(round_trip, settings, report);
    {
        testing::PrivateMariadb server{mariadb_options()};
        for (const Micros round_trip : round_trips) {
            measure_mariadb("mariadb", server, round_trip, settings, report);
        }
    }
    if (!testing::PrivateMysql::is_there()) return;
    testing::PrivateMysql server{mysql_options()};
    for (const Micros round_trip : round_trips) {
        measure_mariadb("mysql", server, round_trip, settings, report);
    }
}

}  // namespace leasehold::bench
