#pragma once

#include <mutex>
#include <vector>

#include <leasehold/time.hpp>

namespace leasehold {

// Compares a store's clock with this process's steady clock, so that the time we use never goes
// back, and a leap ahead is noticed. All connections to a store share one. Thread-safe.
class StoreClock {
public:
    explicit StoreClock(Duration max_leap) : max_leap_{max_leap} {}

    // Takes a reading of the store's clock, made between `asked` and `answered` (steady), and
    // returns the time to decide by: at least the reading, and never less than any time before.
    Time observe(Time reading, SteadyClock::time_point asked, SteadyClock::time_point answered);

    // Another process has used this time already, perhaps while the store's clock was further
    // ahead.
    void at_least(Time used);

    // The least time that a decision from now on may use. It never goes down.
    [[nodiscard]] Time floor();

    // How much of the time since `moment` the store's clock leapt over. A lease written at `moment`
    // has really lived that much less than the store's clock says.
    [[nodiscard]] Duration leapt_since(Time moment) const;

private:
    void note_leap(Time after, Duration size);  // under mutex_

    struct Reading {
        Time time{};
        SteadyClock::time_point asked{};
        SteadyClock::time_point answered{};
    };
    struct Leap {
        Time after;
        Duration size;
    };

    const Duration max_leap_;
    mutable std::mutex mutex_;
    // All below are guarded by mutex_.
    // Time is counted from here: the last reading, or, while the clock is set back, the last
    // reading before that.
    Reading last_;
    SteadyClock::time_point asked_{};     // for the last reading
    SteadyClock::time_point answered_{};  // with it
    Time highest_{};                      // ever used, or given as the floor
    bool has_history_ = false;            // there was a reading before the last
    bool set_back_ = false;               // the store's clock is behind an earlier reading
    std::vector<Leap> leaps_;             // oldest first; at most max_leaps
};

}  // namespace leasehold
