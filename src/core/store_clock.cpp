#include "core/store_clock.hpp"

#include <algorithm>
#include <ctime>

namespace leasehold {
namespace {

constexpr std::size_t max_leaps = 16;

}  // namespace

SteadyClock::time_point SteadyClock::now() noexcept {
    timespec now{};
    clock_gettime(CLOCK_BOOTTIME, &now);
    return time_point{std::chrono::duration_cast<Duration>(std::chrono::seconds{now.tv_sec} +
                                                           std::chrono::nanoseconds{now.tv_nsec})};
}

Time StoreClock::observe(Time reading, SteadyClock::time_point asked,
                         SteadyClock::time_point answered) {
    const std::lock_guard lock{mutex_};
    asked_ = asked;
    answered_ = answered;
    if (last_.time == Time{}) {
        last_ = {reading, asked, answered};
        return highest_ = reading;
    }
    has_history_ = true;
    // The last reading was made before its answer came, this one after it was asked for, and the
    // other way round: the clock should stand between these two.
    const Time earliest = last_.time + (asked - last_.answered);
    const Time latest = last_.time + (answered - last_.asked);

    Time now = std::max(reading, highest_);
    set_back_ = earliest - reading > max_leap_;
    if (set_back_) {
        // Continue with this process's steady clock from one fixed moment, so that the time each
        // reading takes is not lost.
        if (earliest >= now) return highest_ = earliest;
    } else if (reading - latest > max_leap_) {
        // Time that cannot be distinguished from the leap counts as part of it, so no lease ends
        // too early.
        note_leap(reading, reading - earliest);
    }
    last_ = {now, asked, answered};
    return highest_ = now;
}

void StoreClock::at_least(Time used) {
    const std::lock_guard lock{mutex_};
    if (used <= highest_) return;
    // We would have noticed if that much time had passed: what was written before has lived less
    // than it seems.
    if (has_history_ && used - highest_ > max_leap_) note_leap(used, used - highest_);
    highest_ = used;
    last_ = {used, asked_, answered_};
}

void StoreClock::note_leap(Time after, Duration size) {
    if (leaps_.size() == max_leaps) {
        // As one, they count for leases written before the later of them.
        leaps_[1].size += leaps_[0].size;
        leaps_.erase(leaps_.begin());
    }
    leaps_.push_back({after, size});
}

Time StoreClock::floor() {
    const std::lock_guard lock{mutex_};
    if (set_back_)
        highest_ = std::max(highest_, last_.time + (SteadyClock::now() - last_.answered));
    return highest_;
}

Duration StoreClock::leapt_since(Time moment) const {
    const std::lock_guard lock{mutex_};
    Duration total{};
    for (const Leap& leap : leaps_) {
        if (leap.after > moment) total += leap.size;
    }
    return total;
}

}  // namespace leasehold
