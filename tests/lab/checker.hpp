#pragma once

#include <string>
#include <utility>
#include <vector>

#include "lab/history.hpp"

namespace leasehold::lab {

// Something that no legal run can show.
struct Violation {
    std::string rule;
    std::string what;
    std::vector<const Operation*> operations;
};

struct Expectations {
    // How far the store's clock may drift from the recorders' clock, in all. A run that steps the
    // store's clock allows more.
    Duration clock_drift = std::chrono::milliseconds{10};
    // The store's clock may leap ahead: then leases may end before their time on our clock.
    bool store_clock_leaps = false;
    // It never runs fast, but may run slow.
    bool store_clock_lags = false;
    // All processes read one clock, so that the time of any answer compares with any other's. Where
    // each works out the time for itself (etcd's clock is a key that lags; a clock that was set
    // back is carried on by steady clocks), a time that was only read binds nobody else. One that
    // was written to a key's row does: nothing happens on that key at an earlier time, ever.
    bool one_clock = true;
    // It may stand still for as long, and leases live longer by that.
    Duration standstill{};
    // Requests meet each other's transactions: what one is working on is held for the next, by the
    // lease that was last on it.
    bool transactions_meet = false;
    // One transaction writes at a time, whatever it is about: a process stopped in the middle of
    // one keeps all keys.
    bool one_writer = false;
    // From when to when others had transactions open on the keys: what such a transaction guards is
    // refused as held, by the lease that was last on it, even if that is over.
    std::vector<std::pair<Instant, Instant>> foreign_transactions{};

    [[nodiscard]] bool may_have_met_a_transaction(const Operation& operation) const;
};

// What the store itself remembers, read when the run is over.
struct Aftermath {
    std::vector<Holder> holders;
    std::vector<PastLease> history;  // all of it
};

// Reports only what no legal run can show. An operation without an answer may take effect once, at
// any time after it was called, or never.
[[nodiscard]] std::vector<Violation> check(const Operations& operations,
                                           const Expectations& expectations = {},
                                           const Aftermath* aftermath = nullptr);

// With the lines of the history that show it.
[[nodiscard]] std::string describe(const Violation& violation);

// The names of all rules.
[[nodiscard]] std::vector<std::string> rule_names();

}  // namespace leasehold::lab
