#pragma once

#include <string>
#include <vector>

#include "core/rules.hpp"

// How a database keeps the cell of a key.
namespace leasehold {

// A row of table `locks`: the state of one key. The key is one of
//   free        `ended` says how the last lease ended; the other columns describe that lease.
//               The mode `shared` means that the stored fence, the key's highest, belonged to
//               another lease.
//   exclusive   the columns describe the lease
//   shared      the leases are rows of `lock_shares`. This row represents all of them: it has the
//               latest expiry and a lock id that nobody knows, so that a program that reads only
//               this table sees the key as taken.
struct LockRow : Grant {
    Time touched_at{};
    Gone ended = Gone::unknown;  // unknown: not ended
    Time ended_at{};
    std::string ended_by{};
    std::string ended_why{};
};

// The cell of one key, as one transaction sees it.
struct Slot {
    enum class Intent { read, change };
    enum class State {
        missing,  // there is no row
        ours,     // the row is locked by this transaction, or is only read
        blocked,  // another transaction has locked the row: `cell` is what was last committed
    };

    LockKey key;
    Intent intent = Intent::read;
    State state = State::missing;
    LockRow row{};                // as loaded
    std::vector<Grant> shares{};  // as loaded
    Cell cell{};                  // made from row and shares
    bool forget = false;          // delete the row
};

// The row to write for a slot whose cell changed, and the cell of a row that was read.
[[nodiscard]] LockRow row_of(const Slot& slot);
[[nodiscard]] Cell cell_of(const LockRow& row, std::vector<Grant> shares);

struct ShareChanges {
    std::vector<const Grant*> written;  // new or changed
    std::vector<LockId> removed;
};
[[nodiscard]] ShareChanges share_changes(const Slot& slot);

}  // namespace leasehold
