#pragma once

#include <string>
#include <vector>

#include "core/rules.hpp"

// How a database keeps the cell of a key.
namespace leasehold {

// A row of table `locks`: what a database keeps of one key.
//   free        `ended` tells how its last lease ended, the other columns are that lease's; mode
//               `shared` means that the fence, the key's highest, was another's
//   exclusive   the columns are the lease's
//   shared      the leases are rows of `lock_shares`; this row stands for all of them, with
//               a lock id that nobody knows and the latest expiry, so that who looks here only
//               sees it taken
struct LockRow {
    LockId lock_id{};
    Time expires_at{};
    std::string owner{};
    Mode mode = Mode::exclusive;
    Fence fence = 0;
    Time granted_at{};
    Time touched_at{};
    std::string note{};
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
        ours,     // the row is serialised, or only to be read
        blocked,  // somebody's transaction has the row: `cell` is what was last committed
    };

    LockKey key;
    Intent intent = Intent::read;
    State state = State::missing;
    LockRow row{};                // as loaded
    std::vector<Grant> shares{};  // as loaded
    Cell cell{};                  // made of row and shares
    bool forget = false;          // delete the row
};

// What to write for a slot whose cell changed, and what to make of a row that was read.
[[nodiscard]] LockRow row_of(const Slot& slot);
[[nodiscard]] Cell cell_of(const LockRow& row, std::vector<Grant> shares);

struct ShareChanges {
    std::vector<const Grant*> written;  // new or changed
    std::vector<LockId> removed;
};
[[nodiscard]] ShareChanges share_changes(const Slot& slot);

}  // namespace leasehold
