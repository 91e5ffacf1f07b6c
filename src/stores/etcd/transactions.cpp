#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "core/columns.hpp"
#include "stores/etcd/batch_runner.hpp"

// How the work on cells becomes one etcd transaction.
namespace leasehold::etcd {
namespace {

using Effect = StoreFault::Effect;

// Beyond this many lock ids, their rows are compared instead.
constexpr std::size_t compared_leases = 20;
constexpr std::size_t many_unnumbered = 250;
// etcd's --max-request-bytes is 1.5 MiB by default. The rest is for the comparisons and reads.
constexpr std::size_t bytes_of_a_transaction = 1024 * 1024;

// Whether the lock id belongs to a lease of that row that has not ended.
bool has(const KnownRow& known, LockId lock_id) {
    if (known.changed == 0 || known.row.ended != Gone::unknown) return false;
    return known.row.lock_id == lock_id ||
           std::ranges::find(known.shares, lock_id, &Grant::lock_id) != known.shares.end();
}

}  // namespace

CellStore::Begun BatchRunner::begin() {
    guessing_ = true;
    return Begun::writing;
}

void BatchRunner::rollback() noexcept {
    guessing_ = false;
    leases_.clear();
    unchanged_.clear();
}

void BatchRunner::load(Work& work) {
    keep_time();
    if (guessing_) {
        load_as_known(work);
    } else {
        load_as_it_is(work);
    }
}

void BatchRunner::load_as_it_is(Work& work) {
    Time dead{};
    for (int attempt = 0; attempt < attempts; ++attempt) {
        Txn txn;
        for (const Slot& slot : work.slots) txn.read(names_.row_and_shares(slot.key));
        read_leases(txn, work.lock_ids);
        std::optional<Time> written;
        if (dead > shared_.clock.latest().time) {
            written = raise_clock(txn, dead);
        } else if (!tick(txn)) {
            txn.agree_on(names_.nobody());
        }
        const Answer answer = send(txn, Effect::none, written);
        if (!answer.as_expected) continue;
        known_.clear();
        for (std::size_t i = 0; i < work.slots.size(); ++i) {
            known_.push_back(row_in(answer.reads[i], answer.revision));
            shared_.rows.learn(work.slots[i].key, known_.back());
        }
        leases_.clear();
        take_leases(std::span{answer.reads}.subspan(work.slots.size()), work.lock_ids,
                    answer.revision);
        lay_out(work);
        leases_.clear();
        dead = latest_dead(work);
        // Only the clock that came with these rows says whether their leases are dead.
        if (dead <= answer.clock) return;
    }
    throw Conflict{};
}

void BatchRunner::load_as_known(Work& work) {
    known_.assign(work.slots.size(), {});
    std::vector<std::size_t> unknown;
    for (std::size_t i = 0; i < work.slots.size(); ++i) {
        if (auto row = shared_.rows.find(work.slots[i].key)) {
            known_[i] = *std::move(row);
        } else {
            unknown.push_back(i);
        }
    }
    std::vector<LockId> ids;
    for (const LockId& id : work.lock_ids) {
        const bool in_a_row =
            std::ranges::any_of(known_, [&](const KnownRow& known) { return has(known, id); });
        if (!in_a_row && !leases_.contains(id)) ids.push_back(id);
    }
    if (!ids.empty()) {
        Txn txn;
        for (const std::size_t i : unknown) txn.read(names_.row_and_shares(work.slots[i].key));
        read_leases(txn, ids);
        const Answer answer = send(txn, Effect::none);
        for (std::size_t i = 0; i < unknown.size(); ++i) {
            known_[unknown[i]] = row_in(answer.reads[i], answer.revision);
        }
        take_leases(std::span{answer.reads}.subspan(unknown.size()), ids, answer.revision);
    }
    lay_out(work);
}

void BatchRunner::lay_out(Work& work) {
    const ClockKey::Reading latest = shared_.clock.latest();
    decided_at_ = std::max({shared_.clock.now(shared_.steady()), latest.time, clock_.floor()});
    for (std::size_t i = 0; i < work.slots.size(); ++i) {
        Slot& slot = work.slots[i];
        const KnownRow& known = known_[i];
        slot.state = known.changed > 0 ? Slot::State::ours : Slot::State::missing;
        slot.row = known.row;
        slot.shares = known.shares;
        if (known.changed > 0) decided_at_ = std::max(decided_at_, known.row.touched_at);
    }
    work.past.clear();
    for (const auto& [id, lease] : leases_) {
        if (!lease.ended || lease.ended->ending->at < decided_at_ - options_.retention) continue;
        work.past.emplace(id, *lease.ended);
    }
    work.reading = {decided_at_, decided_at_};
}

// Every process must be able to see that these leases are dead before the decision is used.
Time BatchRunner::latest_dead(const Work& work) const {
    Time dead{};
    for (const Slot& slot : work.slots) {
        if (slot.state == Slot::State::missing) continue;
        for (const Grant& grant : cell_of(slot.row, slot.shares).grants) {
            if (grant.expires_at <= decided_at_) dead = std::max(dead, grant.expires_at);
        }
        if (slot.forget) {
            // The next fence will be later than this.
            dead = std::max({dead, slot.row.touched_at + Duration{1},
                             leasehold::time_from(slot.row.fence + 1)});
        }
    }
    return dead;
}

void BatchRunner::commit(const Work& work, Txn& txn, Effect effect) {
    if (txn.bytes_written() > bytes_of_a_transaction) throw TooMuch{};
    txn.expect_no_erasure(names_.forgotten());
    Time clock_below = never;
    for (std::size_t i = 0; i < work.slots.size(); ++i) {
        const Slot& slot = work.slots[i];
        // lab: compare-row
        txn.expect(names_.row_and_shares(slot.key), known_[i].changed, known_[i].known_at);
        txn.read_otherwise(names_.row_and_shares(slot.key));
        if (slot.state == Slot::State::missing) {
            // Another client may have had the key and been purged; the clock is past its fence.
            if (slot.cell.changed) clock_below = std::min(clock_below, decided_at_ + Duration{1});
            continue;
        }
        // No process may have found a lease dead that we treat as alive.
        for (const Grant& grant : cell_of(slot.row, slot.shares).grants) {
            if (grant.expires_at > decided_at_) {
                clock_below = std::min(clock_below, grant.expires_at);
            }
        }
    }
    if (leases_.size() <= compared_leases) {
        for (const auto& [id, lease] : leases_) {
            txn.expect_unchanged(names_.leases(id), lease.known_at);
        }
    }
    for (const Unchanged& seen : unchanged_) txn.expect_unchanged(seen.range, seen.since);
    if (clock_below != never) txn.expect_below(names_.clock(), print(clock_below));

    std::optional<Time> written;
    const Time dead = latest_dead(work);
    if (dead > shared_.clock.latest().time) {
        written = raise_clock(txn, dead);
    } else if (!tick(txn)) {
        txn.agree_on(names_.nobody());
    }

    const Answer answer = send(txn, effect, written);
    guessing_ = false;
    leases_.clear();
    unchanged_.clear();
    for (std::size_t i = 0; i < work.slots.size(); ++i) {
        if (!answer.as_expected) {
            known_[i] = row_in(answer.reads[i], answer.revision);
        } else if (work.slots[i].forget) {
            known_[i] = {};
        } else if (work.slots[i].cell.changed) {
            known_[i].changed = answer.revision;
        }
        known_[i].known_at = answer.revision;
        shared_.rows.learn(work.slots[i].key, std::move(known_[i]));
    }
    if (!answer.as_expected) throw Conflict{};  // lab: as-expected
}

void BatchRunner::end_unchanged(Work& work) {
    Txn txn;  // lab: unchanged
    commit(work, txn, Effect::none);
}

void BatchRunner::save_and_commit(Work& work) {
    Txn txn;
    for (std::size_t i = 0; i < work.slots.size(); ++i) {
        if (work.slots[i].forget || work.slots[i].cell.changed) write(work, i, txn);
    }
    add_to_history(work, txn);
    // lab: lost-answer
    commit(work, txn, txn.writes() ? Effect::unknown : Effect::none);
    unnumbered_ += work.endings.size();
    if (unnumbered_ >= many_unnumbered) number_when_many();
}

void BatchRunner::number_when_many() noexcept {
    unnumbered_ = 0;
    try {
        number_what_ended();
    } catch (...) {
        // The request is done; a later call will number what ended.
    }
}

void BatchRunner::write(const Work& work, std::size_t index, Txn& txn) {
    const Slot& slot = work.slots[index];
    const LockKey& key = slot.key;
    const Cell before =
        slot.state == Slot::State::missing ? Cell{} : cell_of(slot.row, slot.shares);
    const Cell after = slot.forget ? Cell{} : slot.cell;
    const auto among = [](const Cell& cell, LockId id) {
        return std::ranges::find(cell.grants, id, &Grant::lock_id) != cell.grants.end();
    };

    for (const Grant& old : before.grants) {
        if (among(after, old.lock_id)) continue;
        if (!old.owner.empty()) txn.erase(names_.owned(old.owner, key, old.lock_id));
        txn.erase(names_.lease(old.lock_id, key));
    }
    for (const Grant& grant : after.grants) {
        if (among(before, grant.lock_id)) continue;
        // lab: owned
        if (!grant.owner.empty()) txn.put(names_.owned(grant.owner, key, grant.lock_id), {});
        txn.put(names_.lease(grant.lock_id, key), {});
    }
    if (before.last) txn.erase(names_.lease(before.last->grant.lock_id, key));
    if (after.last) txn.put(names_.lease(after.last->grant.lock_id, key), {});

    const ShareChanges changes = share_changes(slot);
    for (const LockId& id : changes.removed) txn.erase(names_.share(key, id));
    if (slot.forget) {
        txn.erase(names_.row(key));
        txn.put(names_.forgotten(), {});
        return;
    }
    for (const Grant* share : changes.written) {
        txn.put(names_.share(key, share->lock_id), print_share(*share));
    }
    LockRow row = row_of(slot);
    txn.put(names_.row(key), print(row));
    // The rows as they will be once they are written.
    known_[index].row = std::move(row);
    known_[index].shares.clear();
    std::ranges::copy_if(slot.cell.grants, std::back_inserter(known_[index].shares),
                         [](const Grant& grant) { return grant.mode == Mode::shared; });
}

void BatchRunner::add_to_history(const Work& work, Txn& txn) const {
    std::int64_t order = 0;
    for (const Ended& ended : work.endings) {
        const Grant& grant = ended.ending->grant;
        const std::string record = print(ended, order++);
        txn.put(names_.lease(grant.lock_id), record);
        txn.put(names_.ended(grant.lock_id, ended.key, grant.fence), record);
    }
}

}  // namespace leasehold::etcd
