#pragma once

#include <string>
#include <utility>
#include <vector>

#include "lab/history.hpp"

namespace leasehold::lab {

// Something that cannot happen in a correct run.
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
    // The store's clock may run slow, but never fast.
    bool store_clock_lags = false;
    // All processes read the same clock, so times of any two answers can be compared. Otherwise
    // (etcd, or a clock that was set back) only a time written to a key's row counts for other
    // processes: nothing on that key may happen earlier.
    bool one_clock = true;
    // How long the store's clock may stop. Leases then live longer by the same time.
    Duration standstill{};
    // Requests can meet other requests' transactions. A key in such a transaction is refused as
    // held by its last lease.
    bool transactions_meet = false;
    // Only one transaction writes at a time. A process that is stopped during a transaction keeps
    // all others from writing, on every key.
    bool one_writer = false;
    // When other programs had transactions open on the keys, from and to. A key in such a
    // transaction is refused as held by its last lease, even if that lease has ended.
    std::vector<std::pair<Instant, Instant>> foreign_transactions{};

    [[nodiscard]] bool may_have_met_a_transaction(const Operation& operation) const;
};

// What the store remembers, read after the run.
struct Aftermath {
    std::vector<Holder> holders;
    std::vector<PastLease> history;  // all of it
};

// Reports only what cannot happen in a correct run. An operation without an answer may take effect
// once, at any time after it was called, or never.
[[nodiscard]] std::vector<Violation> check(const Operations& operations,
                                           const Expectations& expectations = {},
                                           const Aftermath* aftermath = nullptr);

// Includes the lines of the history that show the violation.
[[nodiscard]] std::string describe(const Violation& violation);

// The names of all rules.
[[nodiscard]] std::vector<std::string> rule_names();

}  // namespace leasehold::lab
