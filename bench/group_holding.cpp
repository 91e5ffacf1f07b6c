// What it costs to keep many leases alive.
#include <leasehold/keep_alive.hpp>
#include <leasehold/lock_manager.hpp>
#include <leasehold/open_store.hpp>

#include <algorithm>
#include <memory>
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

constexpr std::size_t held = 10'000;
constexpr Duration beat = 2s;

std::vector<Lease> take_all(LockManager& locks) {
    std::vector<Lease> leases;
    while (leases.size() < held) {
        std::vector<LockKey> keys;
        const std::size_t end = std::min(leases.size() + locks.limits().keys_at_once, held);
        for (std::size_t i = leases.size(); i < end; ++i) {
            keys.emplace_back("Held", std::to_string(i));
        }
        auto taken = locks.try_lock_all(std::move(keys), {.owner = "holder", .ttl = 10min});
        expect(taken.has_value(), "try");
        std::ranges::move(*taken, std::back_inserter(leases));
    }
    return leases;
}

// Returns in the middle between two beats, when no renewal is under way.
void wait_for_middle() {
    const auto now = SteadyClock::now();
    const auto next = SteadyClock::time_point{(now.time_since_epoch() / beat + 1) * beat};
    std::this_thread::sleep_for(next - now + beat / 2);
}

void measure(const RunningStore& store, const Settings& settings, Report& report) {
    Asked asked;
    LockManager locks{std::make_unique<CountedStore>(open_store(store.url), asked)};
    std::vector<std::unique_ptr<KeepAlive>> kept;
    for (const Lease& lease : take_all(locks)) {
        kept.push_back(std::make_unique<KeepAlive>(
            locks, lease, KeepAlive::Options{.ttl = 10min, .every = beat}));
    }
    std::vector<double> batches, requests, ours, servers;
    wait_for_middle();
    for (std::size_t round = 0; round < settings.rounds; ++round) {
        const auto batches_before = asked.batches.load();
        const auto requests_before = asked.requests.load();
        const double ours_before = own_processor_time();
        const double servers_before = store.server_time ? store.server_time() : 0;
        wait_for_middle();
        batches.push_back(static_cast<double>(asked.batches - batches_before));
        requests.push_back(static_cast<double>(asked.requests - requests_before));
        ours.push_back(1000 * (own_processor_time() - ours_before));
        if (store.server_time) servers.push_back(1000 * (store.server_time() - servers_before));
    }
    for (const auto& one : kept) expect(!one->lost(), "keep alive");
    const auto add = [&](const std::string& what, const std::string& unit,
                         std::vector<double> values) {
        report.add_measured({.group = "holding",
                             .name = store.name + ", 10,000 leases, " + what,
                             .leasehold = store.name + " store, one process",
                             .unit = unit,
                             .values = std::move(values)});
    };
    add("batches", "batches a beat", std::move(batches));
    add("renewals", "renewals a beat", std::move(requests));
    add("our processor time", "ms a beat", std::move(ours));
    add("the server's processor time", "ms a beat", std::move(servers));
}

}  // namespace

void run_holding(const Settings& settings, Report& report) {
    on_stores({"sqlite", "postgres", "http"},
              [&](const RunningStore& store) { measure(store, settings, report); });
}

}  // namespace leasehold::bench
