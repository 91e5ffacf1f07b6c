#pragma once

#include <vector>

#include <leasehold/time.hpp>

namespace leasehold {

// Watches a store's clock beside this process's steady clock, so that time as we use it never goes
// back, and a leap ahead is noticed. Not thread-safe.
class StoreClock {
public:
    explicit StoreClock(Duration max_leap) : max_leap_{max_leap} {}

    // Takes in a reading of the store's clock made between `asked` and `answered` (steady), and
    // gives the time to decide by: at least the reading and never less than any time before.
    Time observe(Time reading, SteadyClock::time_point asked, SteadyClock::time_point answered);

    // Somebody has used this time already, perhaps while the store's clock stood further ahead.
    void at_least(Time used);

    // The least time a decision made from now on may use. Later ones are never below it.
    [[nodiscard]] Time floor();

    // How much of the time since `moment` the store's clock leapt over. A lease written at `moment`
    // has truly lived that much less than the store's clock says.
    [[nodiscard]] Duration leapt_since(Time moment) const;

private:
    void note_leap(Time after, Duration size);

    struct Reading {
        Time time{};
        SteadyClock::time_point asked{};
        SteadyClock::time_point answered{};
    };
    struct Leap {
        Time after;
        Duration size;
    };

    Duration max_leap_;
    // What time is counted from: the last reading, or as long as the clock is set back, the one
    // before that.
    Reading last_;
    SteadyClock::time_point asked_{};     // for the last reading
    SteadyClock::time_point answered_{};  // with it
    Time highest_{};                      // ever used, or given as the floor
    bool seasoned_ = false;               // has seen the clock before the last reading
    bool set_back_ = false;               // the store's clock lags behind what it said before
    std::vector<Leap> leaps_;             // oldest first; at most max_leaps
};

}  // namespace leasehold
