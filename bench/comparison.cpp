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
using Seconds = std::chrono::duration<double>;

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

double rate(const Side& side, Seconds duration) {
    Running running{side};
    // Starting threads is not part of it.
    std::this_thread::sleep_for(std::min(Seconds{0.1}, duration / 5));
    const auto cycles_before = running.cycles();
    const auto start = Clock::now();
    std::this_thread::sleep_for(duration);
    const auto cycles = running.cycles() - cycles_before;
    const Seconds took = Clock::now() - start;
    running.finish();
    return static_cast<double>(cycles) / took.count();
}

Spread spread_of(std::vector<double> values) {
    std::ranges::sort(values);
    const std::size_t half = values.size() / 2;
    const double median =
        values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
    return {.median = median, .min = values.front(), .max = values.back()};
}

Row compare(const Comparison& comparison, const Settings& settings) {
    const auto& [group, name, leasehold, peer, kind, goal] = comparison;
    const Seconds warm_up = std::min(Seconds{0.5}, settings.round);
    std::fprintf(stderr, "%s, %s\n", group.c_str(), name.c_str());
    (void)rate(peer, warm_up);
    (void)rate(leasehold, warm_up);

    std::vector<double> ratios, leasehold_rates, peer_rates, busy;
    for (std::size_t round = 0; round < settings.rounds; ++round) {
        wait_for_quiet(settings.patience);
        double ours = 0;
        double theirs = 0;
        // Who goes first changes, so that a steady drift favours nobody.
        if (round % 2 == 0) {
            theirs = rate(peer, settings.round);
            ours = rate(leasehold, settings.round);
        } else {
            ours = rate(leasehold, settings.round);
            theirs = rate(peer, settings.round);
        }
        // A disturbance that came in the middle is mostly still there.
        busy.push_back(busy_now());
        leasehold_rates.push_back(ours);
        peer_rates.push_back(theirs);
        ratios.push_back(kind == Ratio::speed ? ours / theirs : theirs / ours);
        std::fprintf(
            stderr,
            "  round %zu of %zu: %.0f against %.0f cycles/s, ratio %.2f; others used %.0f %%\n",
            round + 1, settings.rounds, ours, theirs, ratios.back(), 100 * busy.back());
    }
    return {.group = group,
            .name = name,
            .leasehold = leasehold.name,
            .peer = peer.name,
            .leasehold_per_s = spread_of(leasehold_rates).median,
            .peer_per_s = spread_of(peer_rates).median,
            .unit = kind == Ratio::speed ? "times as fast" : "times as dear",
            .value = spread_of(ratios),
            .goal = goal,
            .busy = spread_of(busy).median};
}

}  // namespace leasehold::bench
