#pragma once

#include <mutex>

#include <leasehold/time.hpp>

#include "stores/etcd/txn.hpp"

namespace leasehold::etcd {

// What this process knows of the key that keeps the store's time.
//
// A process may write a later time there only if it has seen what the key says for as long on its
// own steady clock. So the key never runs fast, whatever any machine's clock says, and two bounds
// follow from what was seen:
//   step()       the latest time that may be written now. A lease is dead once the key says so.
//   now()        no time that anybody may write is later. It is what leases are counted from, so
//                that none ends before its time.
// They differ by what passed unseen around the last writing, about one round trip for who wrote it
// and for the others as long as they had not looked, and by an allowance for clocks that run at
// different speeds. Whoever writes it sends all others back to watching, so what passed unseen for
// the writer is lost: the last one to have written it should go on. Thread-safe.
class ClockKey {
public:
    using Moment = SteadyClock::time_point;

    struct Reading {
        Time time{};
        Revision changed = 0;
    };

    // The key said so at some moment between these two.
    void saw(const Reading& reading, Moment asked, Moment answered);
    // We wrote it.
    void wrote(const Reading& reading, Moment asked, Moment answered);

    // Whether now() can be told.
    [[nodiscard]] bool is_known() const;
    // Whether now() and step() are as close as they can be for who has looked no oftener. If
    // not, write the key.
    [[nodiscard]] bool is_close(Moment at) const;
    // Whether what the key says is so old that we should write it with the next change.
    [[nodiscard]] bool is_old(Moment at) const;
    // Whether it was asked for since then what the key says.
    [[nodiscard]] bool was_looked_at_since(Moment moment) const;

    // What the key says, as far as is known.
    [[nodiscard]] Reading latest() const;
    // How far it may be raised, and from what: nothing else may stand there when it is done.
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
    Reading latest_{};                 // guarded by mutex_, as all below
    Moment seen_{};                    // the key says `latest_` at least since then
    Moment still_{};                   // it said so then, or later
    Duration unseen_{};                // it may have said so for that long when it was seen
    bool ours_ = false;                // we wrote it
    Duration ahead_{Duration::max()};  // now() less the steady clock, at most
    Time highest_{};                   // now() ever gave
};

}  // namespace leasehold::etcd
