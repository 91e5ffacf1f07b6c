#pragma once

#include <string>
#include <vector>

#include "locks/lock_desk.hpp"
#include "sessions/app_session.hpp"

namespace customers {

// The locks of one step of a business transaction, taken in the name of user, session and tab. A
// lock that the step takes is released if the step fails; a lock that the tab already had stays.
// For one thread.
class StepLocks {
public:
    // Both outlive this.
    StepLocks(LockDesk& desk, const AppSession& session, const std::string& tab)
        : desk_{desk}, session_{session}, owner_{session.owner_in(tab)} {}

    [[nodiscard]] const std::string& user() const { return session_.user; }
    [[nodiscard]] const std::string& owner() const { return owner_; }
    // Whether the lease belongs to this session: knowing a lock id is not enough.
    [[nodiscard]] bool is_ours(const leasehold::Lease& lease) const { return session_.owns(lease); }

    // Locks the root of the aggregate that `member` is a part of.
    [[nodiscard]] leasehold::Result<leasehold::Lease> take(const leasehold::LockKey& member,
                                                           leasehold::Mode mode);
    // Whether this tab already has the lock, in that mode.
    [[nodiscard]] bool has(const leasehold::LockKey& member, leasehold::Mode mode);
    // Releases a lock of this session without saving; twice is harmless.
    void release(const leasehold::LockKey& key, leasehold::LockId lock_id);

    // Begins a new business transaction: when this step succeeds, it releases every other lock that
    // this tab had before.
    void start_anew() { starts_anew_ = true; }
    // The key becomes free with the system transaction.
    void will_be_free(const leasehold::LockKey&) { wakes_ = true; }

    // The step has succeeded.
    void keep() noexcept;
    // The step has failed: releases the locks it took.
    void give_back() noexcept;

private:
    void release_earlier_ones();

    LockDesk& desk_;
    const AppSession& session_;
    const std::string owner_;
    std::vector<leasehold::LockKey> used_;  // every lock this step asked for and got
    std::vector<leasehold::Lease> taken_;   // of these, the leases that this step was granted
    bool starts_anew_ = false;
    bool wakes_ = false;
};

}  // namespace customers
