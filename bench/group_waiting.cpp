// How soon a waiter is granted a lock that somebody releases, and what many waiters cost.
#include <leasehold/lock_manager.hpp>
#include <leasehold/open_store.hpp>

#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "counted_store.hpp"
#include "cycle.hpp"
#include "groups.hpp"
#include "running_store.hpp"

namespace leasehold::bench {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// As many keys are waited for at once, one waiter each.
constexpr int keys = 50;
// How long they wait: until the pauses between their attempts have grown to the longest.
constexpr auto settling = 1s;
constexpr auto between_releases = 10ms;
constexpr int many_waiters = 1000;

LockKey key_of(int number) {
    return {"Waiting", std::to_string(number)};
}

Lease take(LockManager& locks, const LockKey& key) {
    auto lease = locks.try_lock(key, {.owner = "holder", .ttl = 10min});
    expect(lease.has_value(), "try");
    return *std::move(lease);
}

// The microseconds from each release to the grant of the one who waits for that key.
std::vector<double> latencies(LockManager& holder, LockManager& waiter) {
    std::vector<Lease> held;
    for (int i = 0; i < keys; ++i) held.push_back(take(holder, key_of(i)));
    struct Wait {
        std::promise<Clock::time_point> granted{};
        LockId lock_id = LockId::random();
    };
    std::vector<std::shared_ptr<Wait>> waits;
    for (const Lease& lease : held) {
        const auto& wait = waits.emplace_back(std::make_shared<Wait>());
        waiter.submit_for(
            TryLock{.key = lease.key, .lock_id = wait->lock_id, .owner = "waiter", .ttl = 10min},
            10min, [wait](const Outcome& outcome) {
                const auto now = Clock::now();
                expect(std::holds_alternative<Lease>(outcome), "wait");
                wait->granted.set_value(now);
            });
    }
    std::this_thread::sleep_for(settling);
    std::vector<Clock::time_point> released;
    for (const Lease& lease : held) {
        released.push_back(Clock::now());
        expect(holder.release(lease.key, lease.lock_id).has_value(), "release");
        std::this_thread::sleep_until(released.back() + between_releases);
    }
    std::vector<double> micros;
    for (std::size_t i = 0; i < waits.size(); ++i) {
        const auto took = waits[i]->granted.get_future().get() - released[i];
        micros.push_back(std::chrono::duration<double, std::micro>{took}.count());
        expect(waiter.release(held[i].key, waits[i]->lock_id).has_value(), "release");
    }
    std::ranges::sort(micros);
    return micros;
}

void measure_latency(const RunningStore& store, const std::string& who, LockManager& holder,
                     LockManager& waiter, const Settings& settings, Report& report) {
    std::vector<double> halves, nearly_alls;
    for (std::size_t round = 0; round < settings.rounds; ++round) {
        const std::vector<double> micros = latencies(holder, waiter);
        halves.push_back(micros[micros.size() / 2]);
        nearly_alls.push_back(micros[micros.size() * 99 / 100]);
    }
    const auto add = [&](const std::string& which, std::vector<double> values) {
        report.add_measured({.group = "waiting",
                             .name = store.name + ", released by " + who + ", " + which,
                             .leasehold = store.name + " store, 50 keys, a waiter each",
                             .unit = "us from the release to the grant",
                             .values = std::move(values)});
    };
    add("p50", std::move(halves));
    add("p99", std::move(nearly_alls));
}

// What waiters cost while nothing happens.
void measure_cost(const RunningStore& store, LockManager& holder, int held,
                  const Settings& settings, Report& report) {
    std::vector<Lease> leases;
    for (int i = 0; i < held; ++i) leases.push_back(take(holder, key_of(i)));
    Asked asked;
    std::stop_source stop;
    std::atomic<int> waiting = many_waiters;
    LockManager waiter{std::make_unique<CountedStore>(open_store(store.url), asked)};
    for (int i = 0; i < many_waiters; ++i) {
        waiter.submit_for(
            try_request(key_of(i % held), {.owner = "waiter-" + std::to_string(i), .ttl = 10min},
                        waiter.limits()),
            10min, [&](const Outcome&) { --waiting; }, stop.get_token());
    }
    std::this_thread::sleep_for(2 * settling);
    std::vector<double> batches, requests, ours, servers;
    for (std::size_t round = 0; round < settings.rounds; ++round) {
        const auto begun = Clock::now();
        const auto batches_before = asked.batches.load();
        const auto requests_before = asked.requests.load();
        const double ours_before = own_processor_time();
        const double servers_before = store.server_time ? store.server_time() : 0;
        std::this_thread::sleep_for(settings.round);
        const double seconds = std::chrono::duration<double>{Clock::now() - begun}.count();
        batches.push_back(static_cast<double>(asked.batches - batches_before) / seconds);
        requests.push_back(static_cast<double>(asked.requests - requests_before) / seconds);
        ours.push_back(1000 * (own_processor_time() - ours_before) / seconds);
        if (store.server_time) {
            servers.push_back(1000 * (store.server_time() - servers_before) / seconds);
        }
    }
    expect(waiting == many_waiters, "wait");
    stop.request_stop();
    for (const Lease& lease : leases) {
        expect(holder.release(lease.key, lease.lock_id).has_value(), "release");
    }
    const std::string name = store.name + ", 1,000 waiters for " +
                             (held == 1 ? std::string{"one key"} : std::string{"a key each"});
    const auto add = [&](const std::string& what, const std::string& unit,
                         std::vector<double> values) {
        report.add_measured({.group = "waiting",
                             .name = name + ", " + what,
                             .leasehold = store.name + " store, one process",
                             .unit = unit,
                             .values = std::move(values)});
    };
    add("batches", "batches a second", std::move(batches));
    add("tries", "tries a second", std::move(requests));
    add("our processor time", "ms a second", std::move(ours));
    add("the server's processor time", "ms a second", std::move(servers));
}

}  // namespace

void run_waiting(const Settings& settings, Report& report) {
    on_stores({"memory", "sqlite", "postgres", "mysql", "mariadb", "etcd", "http"},
              [&](const RunningStore& store) {
                  LockManager holder{open_store(store.url)};
                  measure_latency(store, "the same process", holder, holder, settings, report);
                  if (store.name == "memory") return;
                  {
                      // What a second process has: a store, connections and threads of its own.
                      LockManager waiter{open_store(store.url)};
                      measure_latency(store, "another process", holder, waiter, settings, report);
                  }
                  if (store.name == "http") return;  // its tries wait in the server
                  for (const int held : {1, many_waiters}) {
                      measure_cost(store, holder, held, settings, report);
                  }
              });
}

}  // namespace leasehold::bench
