#pragma once

#include <string>
#include <vector>

#include "locks/lock_desk.hpp"
#include "sessions/app_session.hpp"

namespace customers {

// The locks of one step of a business transaction, taken in the name of user, session and tab. What
// the step takes stays taken only if the step succeeds. For one thread.
class StepLocks {
public:
    // Both outlive this.
    StepLocks(LockDesk& desk, const AppSession& session, const std::string& tab)
        : desk_{desk}, session_{session}, owner_{session.owner_in(tab)} {}

    [[nodiscard]] const std::string& user() const { return session_.user; }
    [[nodiscard]] const std::string& owner() const { return owner_; }
    // Not somebody else's, whoever has learnt of its lock id.
    [[nodiscard]] bool is_ours(const leasehold::Lease& lease) const { return session_.owns(lease); }

    // Locks the root of the aggregate that `member` is a part of.
    [[nodiscard]] leasehold::Result<leasehold::Lease> take(const leasehold::LockKey& member,
                                                           leasehold::Mode mode);
    // Whether this tab has it already, in that mode.
    [[nodiscard]] bool has(const leasehold::LockKey& member, leasehold::Mode mode);
    // Ends a lock of this session without saving; twice is harmless.
    void let_go(const leasehold::LockKey& key, leasehold::LockId lock_id);

    // A new business transaction: the locks that this tab had before end with this step.
    void start_anew() { starts_anew_ = true; }
    // The key becomes free with the system transaction.
    void will_be_free(const leasehold::LockKey&) { wakes_ = true; }

    // The step has succeeded.
    void keep() noexcept;
    // The step has failed: as if nothing had been taken.
    void give_back() noexcept;

private:
    void end_earlier_ones();

    LockDesk& desk_;
    const AppSession& session_;
    const std::string owner_;
    std::vector<leasehold::Lease> taken_;
    bool starts_anew_ = false;
    bool wakes_ = false;
};

}  // namespace customers
