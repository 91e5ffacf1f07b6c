#include "faults/laboratory/round.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <random>

#include <fmt/format.h>

#include <leasehold/open_store.hpp>

#include "lab/aftermath.hpp"
#include "lab/checks.hpp"
#include "lab/client.hpp"

namespace leasehold::faults {
namespace {

using lab::Instant;
using lab::Operation;

lab::Operations read_recordings(const std::vector<std::filesystem::path>& files) {
    lab::Operations all;
    for (const auto& file : files) {
        std::ifstream in{file};
        std::ranges::move(lab::read_history(in), std::back_inserter(all));
    }
    return all;
}

bool is_granted(const Operation& operation) {
    return lab::owner_of_try(operation.request) != nullptr && !operation.is_unknown() &&
           !operation.is_refused();
}

// The client "server-1-0" used server-1, "application-3-1" used the application.
std::string way_of(const std::string& client) {
    if (client.starts_with("application")) return "application";
    return client.substr(0, client.rfind('-'));
}

class Judge {
public:
    Judge(Round& round, const lab::Operations& operations, const lab::Aftermath& aftermath)
        : round_{round}, operations_{operations}, aftermath_{aftermath} {}

    void judge(bool clocks_are_set, std::size_t grants_between) {
        count();
        for (Strike& strike : round_.strikes) look_at(strike, grants_between);
        for (const auto& [name, count] : lab::untold_leases(lab::tell(operations_), aftermath_)) {
            round_.unknown_granted += count;
        }
        lab::Expectations expectations{.clock_drift = 20ms, .transactions_meet = true};
        expectations.one_writer = round_.store == "sqlite";
        if (clocks_are_set) {
            expectations.clock_drift = 100ms;
            expectations.store_clock_leaps = true;
            expectations.one_clock = false;
        }
        if (round_.store == "etcd") {
            // No lease may end early by any steady clock, and on one machine all steady clocks are
            // the same.
            expectations.clock_drift = 0ms;
            expectations.store_clock_lags = true;
            expectations.one_clock = false;
            // Leasehold does not promise how slow the store's clock may be. The laboratory demands
            // this bound.
            expectations.standstill = 5s;
        }
        for (const Strike& strike : round_.strikes) {
            if (strike.is_transaction)
                expectations.foreign_transactions.emplace_back(strike.began, strike.ended);
        }
        for (const lab::Violation& violation : lab::check(operations_, expectations, &aftermath_)) {
            Instant latest{};
            for (const Operation* operation : violation.operations)
                latest = std::max(latest, operation->called);
            Strike* blamed = strike_at(latest);
            if (blamed != nullptr) ++blamed->violations;
            round_.violations.push_back(
                fmt::format("{}: {}", blamed != nullptr ? blamed->fault : "before any fault",
                            describe(violation)));
        }
    }

private:
    void count() {
        for (const Operation& operation : operations_) {
            ++round_.operations;
            round_.unknown += operation.is_unknown() ? 1 : 0;
            if (Strike* strike = strike_at(operation.called)) {
                ++strike->operations;
                strike->unknown += operation.is_unknown() ? 1 : 0;
            }
            if (!is_granted(operation)) continue;
            ++round_.grants;
            round_.granted_at.push_back(*operation.returned);
            by_way_[way_of(operation.client)].push_back(*operation.returned);
        }
        std::ranges::sort(round_.granted_at);
        for (auto& [way, times] : by_way_) std::ranges::sort(times);
    }

    void look_at(Strike& strike, std::size_t grants_between) {
        const auto between = [&](Instant from, Instant to) {
            return static_cast<std::size_t>(std::ranges::lower_bound(round_.granted_at, to) -
                                            std::ranges::lower_bound(round_.granted_at, from));
        };
        const auto at = &strike - round_.strikes.data();
        const Instant before = at == 0 ? round_.began : round_.strikes[at - 1].ended;
        const bool last = &strike == &round_.strikes.back();
        strike.grants_before = between(before, strike.began);
        strike.grants_after =
            between(strike.ended, last ? round_.ended : round_.strikes[at + 1].began);
        for (const auto& [way, times] : by_way_) {
            // From the last grant before the strike to the first grant after it, with all grants in
            // between.
            const auto first = std::ranges::lower_bound(times, strike.began);
            const auto end = std::ranges::upper_bound(times, strike.ended);
            Instant previous = first == times.begin() ? strike.began : *std::prev(first);
            for (auto time = first; time != times.end(); ++time) {
                strike.longest_gap = std::max(strike.longest_gap, *time - previous);
                previous = *time;
                if (time >= end) break;
            }
        }
        if (std::min(strike.grants_before, strike.grants_after) < grants_between) {
            round_.violations.push_back(
                fmt::format("{}: proves nothing, there were {} grants before it and {} after it",
                            strike.fault, strike.grants_before, strike.grants_after));
        }
    }

    [[nodiscard]] Strike* strike_at(Instant time) {
        const auto after = std::ranges::upper_bound(round_.strikes, time, {}, &Strike::began);
        return after == round_.strikes.begin() ? nullptr : &*std::prev(after);
    }

    Round& round_;
    const lab::Operations& operations_;
    const lab::Aftermath& aftermath_;
    std::map<std::string, std::vector<Instant>> by_way_;
};

// Waits until this many grants have been made from now on.
bool wait_for_grants(const Stage& stage, std::size_t more) {
    // Some grants are counted a moment later than they were made: at most one of each client.
    constexpr std::size_t before_now = 10;
    const std::size_t wanted = stage.grants() + more + before_now;
    return eventually([&] { return stage.grants() >= wanted; }, 120s);
}

std::vector<Fault> wanted(std::vector<Fault> faults, const RoundOptions& options) {
    std::erase_if(faults, [&](const Fault& fault) {
        return !options.faults.empty() &&
               std::ranges::none_of(options.faults, [&](const std::string& name) {
                   return fault.name.contains(name);
               });
    });
    return faults;
}

Strike strike_with(const Fault& fault) {
    const Instant began = SteadyClock::now();
    fault.begin();
    std::this_thread::sleep_until(std::chrono::steady_clock::now() + fault.lasts);
    fault.end();
    return {.fault = fault.name,
            .began = began,
            .ended = SteadyClock::now(),
            .is_transaction = fault.is_transaction};
}

}  // namespace

Round run_round(Ground& ground, const RoundOptions& options, const std::filesystem::path& folder) {
    Round round{.store = ground.store(), .seed = options.seed, .began = SteadyClock::now()};
    std::mt19937_64 dice{options.seed};
    Stage stage{ground, options.seed, folder};
    std::ofstream log{folder / "faults.jsonl"};
    std::vector<std::size_t> left;  // faults that come before any is repeated
    bool recovered = wait_for_grants(stage, options.grants_between);
    while (recovered) {
        const std::vector<Fault> faults =
            wanted(faults_of(stage, dice() % Stage::servers), options);
        if (faults.empty() || !options.go_on(round.strikes.size(), faults.size())) break;
        if (left.empty()) {
            for (std::size_t i = 0; i < faults.size(); ++i) left.push_back(i);
            std::ranges::shuffle(left, dice);
        }
        const Fault& fault = faults[left.back()];
        left.pop_back();
        round.strikes.push_back(strike_with(fault));
        const Strike& strike = round.strikes.back();
        log << fmt::format("{{\"fault\":\"{}\",\"began_us\":{},\"ended_us\":{}}}\n", fault.name,
                           strike.began.time_since_epoch().count(),
                           strike.ended.time_since_epoch().count())
            << std::flush;
        options.progress(fmt::format("{} {}: {}", round.store, round.strikes.size(), fault.name));
        recovered = wait_for_grants(stage, options.grants_between);
    }
    const bool application_lives = stage.application().running();
    stage.end_load();
    round.ended = SteadyClock::now();
    if (!recovered) {
        round.violations.push_back((round.strikes.empty() ? "" : round.strikes.back().fault) +
                                   ": no grants any more");
    }
    if (!application_lives) round.violations.emplace_back("the application ended by itself");
    const lab::Operations operations = read_recordings(stage.recordings());
    const auto store = ask_until_answered([&] { return open_store(stage.url()); });
    const lab::Aftermath aftermath = lab::read_aftermath(*store, lab::some_keys(keys_of_load));
    Judge{round, operations, aftermath}.judge(ground.wired() == Wired::clocks,
                                              options.grants_between);
    return round;
}

}  // namespace leasehold::faults
