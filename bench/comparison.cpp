#include "comparison.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <exception>
#include <fstream>
#include <mutex>
#include <thread>

namespace leasehold::bench {
namespace {

using Clock = std::chrono::steady_clock;

// Alone in its cache line, or the threads would slow each other down by counting.
struct alignas(128) Counter {
    std::atomic<std::uint64_t> cycles{0};
};

// Lets a contender run in threads until it is destroyed.
class Running {
public:
    explicit Running(const Side& side) : counters_(side.threads) {
        for (std::size_t i = 0; i < side.threads; ++i) {
            threads_.emplace_back([this, i, &contender = side.contender] {
                try {
                    contender.run_cycles(i, stop_, counters_[i].cycles);
                } catch (...) {
                    const std::lock_guard lock{mutex_};
                    error_ = std::current_exception();
                }
            });
        }
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    ~Running() { stop(); }

    [[nodiscard]] std::uint64_t cycles() const {
        std::uint64_t sum = 0;
        for (const Counter& counter : counters_)
            sum += counter.cycles.load(std::memory_order_relaxed);
        return sum;
    }

    // Throws what a thread threw.
    void finish() {
        stop();
        if (error_) std::rethrow_exception(error_);
    }

private:
    void stop() {
        stop_ = true;
        for (std::thread& thread : threads_) {
            if (thread.joinable()) thread.join();
        }
    }

    std::atomic<bool> stop_{false};
    std::vector<Counter> counters_;
    std::mutex mutex_;
    std::exception_ptr error_;  // guarded by mutex_ while threads run
    std::vector<std::thread> threads_;
};

struct ProcessorTime {
    double busy = 0;
    double all = 0;
};

// Since the machine was started.
ProcessorTime processor_time() {
    std::ifstream file{"/proc/stat"};
    std::string cpu;
    double user = 0, nice = 0, system = 0, idle = 0, io_wait = 0, irq = 0, soft_irq = 0, steal = 0;
    file >> cpu >> user >> nice >> system >> idle >> io_wait >> irq >> soft_irq >> steal;
    const double busy = user + nice + system + irq + soft_irq + steal;
    return {busy, busy + idle + io_wait};
}

// While we do nothing: what is in use then is used by others.
double busy_now() {
    const ProcessorTime before = processor_time();
    std::this_thread::sleep_for(std::chrono::milliseconds{200});
    const ProcessorTime after = processor_time();
    return after.all > before.all ? (after.busy - before.busy) / (after.all - before.all) : 0;
}

void wait_for_quiet(Seconds patience) {
    const auto give_up = Clock::now() + patience;
    while (busy_now() > Row::quiet && Clock::now() < give_up) {
    }
}

}  // namespace

Pace pace(const Side& side, Seconds duration) {
    constexpr double us = 1e6;
    Running running{side};
    // Starting threads is not part of it.
    std::this_thread::sleep_for(std::min(Seconds{0.1}, duration / 5));
    const auto used_before = side.contender.processor_time();
    const auto cycles_before = running.cycles();
    const auto start = Clock::now();
    std::this_thread::sleep_for(duration);
    const auto cycles = static_cast<double>(running.cycles() - cycles_before);
    const Seconds took = Clock::now() - start;
    const auto used = side.contender.processor_time();
    running.finish();
    Pace result{.cycles_per_s = cycles / took.count()};
    if (used) result.processor_us = us * (*used - *used_before).count() / (cycles * cycle_requests);
    if (const auto p99 = side.contender.p99()) result.p99_us = us * p99->count();
    return result;
}

Spread spread_of(std::vector<double> values) {
    std::ranges::sort(values);
    const std::size_t half = values.size() / 2;
    const double median =
        values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
    return {.median = median, .min = values.front(), .max = values.back()};
}

namespace {

// Of each figure by itself.
Pace median_of(const std::vector<Pace>& paces) {
    const auto median = [&](auto figure) -> std::optional<double> {
        std::vector<double> values;
        for (const Pace& one : paces) {
            if (const std::optional<double> value = figure(one)) values.push_back(*value);
        }
        if (values.empty()) return std::nullopt;
        return spread_of(std::move(values)).median;
    };
    return {.cycles_per_s = *median([](const Pace& p) { return std::optional{p.cycles_per_s}; }),
            .processor_us = median([](const Pace& p) { return p.processor_us; }),
            .p99_us = median([](const Pace& p) { return p.p99_us; })};
}

double ratio_of(Ratio kind, const Pace& leasehold, const Pace& peer) {
    switch (kind) {
        case Ratio::speed: return leasehold.cycles_per_s / peer.cycles_per_s;
        case Ratio::cost: return peer.cycles_per_s / leasehold.cycles_per_s;
        case Ratio::p99: return *leasehold.p99_us / *peer.p99_us;
    }
    return 0;
}

std::string unit_of(Ratio kind) {
    switch (kind) {
        case Ratio::speed: return "times as fast";
        case Ratio::cost: return "times as dear";
        case Ratio::p99: return "times the p99 of a request";
    }
    return {};
}

}  // namespace

Row compare(const Comparison& comparison, const Settings& settings) {
    const auto& [group, name, leasehold, peer, kind, goal] = comparison;
    const Seconds warm_up = std::min(Seconds{0.5}, settings.round);
    std::fprintf(stderr, "%s, %s\n", group.c_str(), name.c_str());
    (void)pace(peer, warm_up);
    (void)pace(leasehold, warm_up);

    std::vector<double> ratios, busy;
    std::vector<Pace> leasehold_paces, peer_paces;
    for (std::size_t round = 0; round < settings.rounds; ++round) {
        wait_for_quiet(settings.patience);
        Pace ours;
        Pace theirs;
        // The sides take turns in going first, so that a steady drift favours neither.
        if (round % 2 == 0) {
            theirs = pace(peer, settings.round);
            ours = pace(leasehold, settings.round);
        } else {
            ours = pace(leasehold, settings.round);
            theirs = pace(peer, settings.round);
        }
        // A disturbance that came in the middle is mostly still there.
        busy.push_back(busy_now());
        leasehold_paces.push_back(ours);
        peer_paces.push_back(theirs);
        ratios.push_back(ratio_of(kind, ours, theirs));
        std::fprintf(
            stderr,
            "  round %zu of %zu: %.0f against %.0f cycles/s, ratio %.2f; others used %.0f %%\n",
            round + 1, settings.rounds, ours.cycles_per_s, theirs.cycles_per_s, ratios.back(),
            100 * busy.back());
    }
    return {.group = group,
            .name = name,
            .leasehold = leasehold.name,
            .peer = peer.name,
            .leasehold_pace = median_of(leasehold_paces),
            .peer_pace = median_of(peer_paces),
            .unit = unit_of(kind),
            .value = spread_of(ratios),
            .goal = goal,
            .busy = spread_of(busy).median};
}

}  // namespace leasehold::bench
