#pragma once

#include <mutex>

#include <leasehold/time.hpp>

#include "stores/etcd/txn.hpp"

namespace leasehold::etcd {

// What this process knows of the key that keeps the store's time.
//
// A process may raise the key by a duration only if it has seen the key unchanged for that long on
// its own steady clock. So the key never runs fast, whatever any machine's clock says. Two bounds
// follow from what the process has seen:
//   step()       the latest time that may be written now. A lease is dead once the key says so.
//   now()        no process may write a later time. Leases are counted from it, so that none ends
//                early.
// They differ by the time that passed unseen around the last write (about one round trip for the
// writer, the time since its last look for any other process), and by an allowance for clocks that
// run at different speeds. A write makes all other processes start watching again, and the time
// that the writer did not see is lost. So the process that wrote last should write next.
// Thread-safe.
class ClockKey {
public:
    using Moment = SteadyClock::time_point;

    struct Reading {
        Time time{};
        Revision changed = 0;
    };

    // The key had this value at some moment between these two.
    void saw(const Reading& reading, Moment asked, Moment answered);
    // We wrote it.
    void wrote(const Reading& reading, Moment asked, Moment answered);

    // Whether now() is known.
    [[nodiscard]] bool is_known() const;
    // Whether now() and step() are as close as this process can get them by watching. If not,
    // write the key.
    [[nodiscard]] bool is_close(Moment at) const;
    // Whether the key's value is so old that the next change should write it too.
    [[nodiscard]] bool is_old(Moment at) const;
    // Whether the key was read after this moment.
    [[nodiscard]] bool was_looked_at_since(Moment moment) const;

    // The latest known value of the key.
    [[nodiscard]] Reading latest() const;
    // How far the key may be raised, and from which value: the transaction compares that value.
    struct Step {
        Reading from;
        Time to;
    };
    [[nodiscard]] Step step(Moment at) const;
    // Never goes back.
    [[nodiscard]] Time now(Moment at);

private:
    [[nodiscard]] Time writable(Moment at) const;

    mutable std::mutex mutex_;
    Reading latest_{};   // guarded by mutex_, as all below
    Moment seen_{};      // the key has had the value `latest_` at least since then
    Moment still_{};     // it still had that value then, or later
    Duration unseen_{};  // it may have had that value for this long when it was first seen
    bool ours_ = false;  // we wrote it
    Duration ahead_{Duration::max()};  // now() less the steady clock, at most
    Time highest_{};                   // the highest value that now() has returned
};

}  // namespace leasehold::etcd
