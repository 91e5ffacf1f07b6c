#include "core/lock_row.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace leasehold {

Cell cell_of(const LockRow& row, std::vector<Grant> shares) {
    Cell cell;
    cell.fence = row.fence;
    cell.touched = row.touched_at;
    auto grant = static_cast<const Grant&>(row);
    if (row.ended != Gone::unknown) {
        if (row.mode == Mode::shared) grant.fence = 0;
        cell.last = std::make_shared<const Ending>(
            Ending{std::move(grant), row.ended, row.ended_at, row.ended_by, row.ended_why});
    } else if (row.mode == Mode::shared) {
        cell.grants = std::move(shares);
    } else {
        cell.grants.push_back(std::move(grant));
    }
    return cell;
}

LockRow row_of(const Slot& slot) {
    const Cell& cell = slot.cell;
    LockRow row;
    if (cell.grants.empty()) {
        const Ending& last = *cell.last;
        static_cast<Grant&>(row) = last.grant;
        // The lease of another program that shares the table may have no lock id that we can read.
        if (row.lock_id.is_nil()) row.lock_id = LockId::random();
        row.mode = last.grant.fence == cell.fence ? Mode::exclusive : Mode::shared;
        row.expires_at = last.at;
        row.ended = last.how;
        row.ended_at = last.at;
        row.ended_by = last.by;
        row.ended_why = last.why;
    } else if (const Grant& first = cell.grants.front(); first.mode == Mode::exclusive) {
        static_cast<Grant&>(row) = first;
    } else {
        const bool was_shared = slot.state == Slot::State::ours && slot.row.mode == Mode::shared &&
                                slot.row.ended == Gone::unknown;
        row.lock_id = was_shared ? slot.row.lock_id : LockId::random();
        row.mode = Mode::shared;
        row.granted_at = std::ranges::min(cell.grants, {}, &Grant::granted_at).granted_at;
        row.expires_at = std::ranges::max(cell.grants, {}, &Grant::expires_at).expires_at;
    }
    row.fence = cell.fence;
    row.touched_at = cell.touched;
    return row;
}

ShareChanges share_changes(const Slot& slot) {
    ShareChanges changes;
    const auto share_of = [](const std::vector<Grant>& grants, LockId id) -> const Grant* {
        const auto found = std::ranges::find(grants, id, &Grant::lock_id);
        return found != grants.end() && found->mode == Mode::shared ? &*found : nullptr;
    };
    for (const Grant& old : slot.shares) {
        if (share_of(slot.cell.grants, old.lock_id) == nullptr)
            changes.removed.push_back(old.lock_id);
    }
    for (const Grant& grant : slot.cell.grants) {
        if (grant.mode != Mode::shared) continue;
        const Grant* old = share_of(slot.shares, grant.lock_id);
        if (old == nullptr || *old != grant) {
            changes.written.push_back(&grant);
        }
    }
    return changes;
}

}  // namespace leasehold
