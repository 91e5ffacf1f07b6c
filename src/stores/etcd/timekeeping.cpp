#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include "stores/etcd/batch_runner.hpp"

// How a runner learns the store's time and advances it.
namespace leasehold::etcd {
namespace {

using Effect = StoreFault::Effect;
using Cause = StoreFault::Cause;

Time machine_time() {
    return std::chrono::floor<Duration>(std::chrono::system_clock::now());
}

}  // namespace

void BatchRunner::keep_time() {
    if (!shared_.clock.is_close(shared_.steady())) write_clock();
}

void BatchRunner::write_clock() {
    for (int attempt = 0; attempt < attempts; ++attempt) {
        auto [latest, time] = shared_.clock.step(shared_.steady());
        Txn txn;
        // A new store's clock starts at the wall clock's time.
        if (latest.changed == 0) time = machine_time();
        txn.expect_exactly(names_.clock(), latest.changed);
        txn.put(names_.clock(), print(time));
        if (send(txn, Effect::none, time).as_expected) return;
        // Other processes write it, too: a write after our look is good enough.
        if (shared_.clock.is_close(shared_.steady())) return;
    }
    if (shared_.clock.is_known()) return;
    throw StoreFault{Effect::none, Cause::unavailable,
                     "others keep writing the store's clock in etcd"};
}

Time BatchRunner::raise_clock(Txn& txn, Time at_least) {
    Retry retry{retries::etcd_clock, SteadyClock::now() + options_.io_timeout};
    for (;;) {
        const auto [latest, time] = shared_.clock.step(shared_.steady());
        if (time >= at_least) {
            txn.expect_exactly(names_.clock(), latest.changed);
            txn.put(names_.clock(), print(time));
            return time;
        }
        const auto pause = retry.next_pause();
        if (!pause) {
            throw StoreFault{Effect::none, Cause::unavailable,
                             "the store's clock may not be raised far enough yet"};
        }
        std::this_thread::sleep_for(std::min(at_least - time, *pause));
        // Notice what other processes write in the meantime.
        constexpr Duration longest_unseen = std::chrono::milliseconds{30};
        if (!shared_.clock.was_looked_at_since(shared_.steady() - longest_unseen)) {
            Txn look;
            (void)send(look, Effect::none);
        }
    }
}

std::optional<Time> BatchRunner::tick(Txn& txn) const {
    const auto at = shared_.steady();
    if (!shared_.clock.is_old(at)) return std::nullopt;
    const auto [latest, time] = shared_.clock.step(at);
    txn.put_if(names_.clock(), latest.changed, print(time));
    return time;
}

ClockReading BatchRunner::read_clock() {
    keep_time();
    const Time time = std::max(shared_.clock.now(shared_.steady()), shared_.clock.latest().time);
    return {time, time};
}

// The clock key is the floor.
void BatchRunner::raise_floor(Time /*floor*/) noexcept {}

}  // namespace leasehold::etcd
