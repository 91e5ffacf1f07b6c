#include "server/events/ledger.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/grant.hpp"
#include "core/rules.hpp"

namespace leasehold::server {
namespace {

// Whether `after` continues `before`: a shared lease that its holder made exclusive has a new
// fence.
bool became(const Holder& before, const Holder& after) {
    return before.mode == Mode::shared && after.fence > before.fence &&
           after.granted_at == before.granted_at && after.owner == before.owner;
}

}  // namespace

Ledger::Reported* Ledger::find(Entry& entry, Fence fence) {
    const auto at = entry.live.find(fence);
    return at != entry.live.end() ? &at->second : nullptr;
}

bool Ledger::has_ended(const Entry& entry, Fence fence) {
    return entry.ended.contains(fence);
}

bool Ledger::knows_later(const Entry& entry, Fence fence) {
    return entry.live.upper_bound(fence) != entry.live.end() ||
           entry.ended.upper_bound(fence) != entry.ended.end();
}

bool Ledger::contradicts(const Entry& entry, const Holder& lease) {
    if (entry.live.empty()) return false;
    // An exclusive lease tolerates no other lease.
    return lease.mode == Mode::exclusive ||
           entry.live.begin()->second.lease.mode == Mode::exclusive;
}

void Ledger::remember(Entry& entry, const Holder& lease) {
    const auto due =
        lease.expires_at == never ? due_.end() : due_.emplace(lease.expires_at, LockKey{lease.key});
    entry.live.insert_or_assign(lease.fence, Reported{lease, survey_, due});
}

void Ledger::forget(Entry& entry, Fence fence) {
    if (const auto at = entry.live.find(fence); at != entry.live.end()) {
        if (at->second.due != due_.end()) due_.erase(at->second.due);
        entry.live.erase(at);
    }
    entry.ended[fence] = survey_;
}

void Ledger::grant(Entry& entry, const Holder& lease, Time store_now) {
    remember(entry, lease);
    tell_({.kind = Event::Kind::granted, .lease = lease, .store_now = store_now});
}

void Ledger::update(Reported& reported, const Holder& lease, Time store_now) {
    reported.survey = survey_;
    // An expiry never becomes earlier, so news of an earlier one is old.
    if (lease == reported.lease || lease.expires_at < reported.lease.expires_at) return;
    if (reported.due != due_.end()) due_.erase(reported.due);
    reported.due =
        lease.expires_at == never ? due_.end() : due_.emplace(lease.expires_at, LockKey{lease.key});
    reported.lease = lease;
    tell_({.kind = Event::Kind::extended, .lease = lease, .store_now = store_now});
}

void Ledger::end(Entry& entry, const PastLease& past, Time store_now) {
    if (has_ended(entry, past.lease.fence)) return;
    const bool is_told = find(entry, past.lease.fence) != nullptr;
    if (!is_told && (knows_later(entry, past.lease.fence) || has_told_expiry(past))) return;
    if (!is_told && complete_) {
        tell_({.kind = Event::Kind::granted, .lease = past.lease, .store_now = store_now});
    }
    forget(entry, past.lease.fence);
    tell_(ending_of(past, store_now));
}

bool Ledger::has_told_expiry(const PastLease& past) const {
    const Time expiry = past.lease.expires_at;
    if (!complete_ || surveys_.empty() || past.ended_at < expiry) return false;
    const auto seen = std::ranges::lower_bound(surveys_, past.lease.granted_at);
    return seen != surveys_.end() && *seen < expiry && expiry <= surveys_.back();
}

void Ledger::keep_time(Time surveyed) {
    constexpr std::size_t most = 1000;
    surveys_.push_back(surveyed);
    if (surveys_.size() > most) surveys_.pop_front();
}

void Ledger::begin(const Survey& survey) {
    surveys_.clear();
    keep_time(survey.store_now);
    entries_.clear();
    due_.clear();
    wanted_.clear();
    complete_ = survey.complete;
    latest_ = 0;
    for (const PastLease& past : survey.past) latest_ = std::max(latest_, past.sequence);
    for (const Holder& lease : survey.live) remember(entries_[lease.key], lease);
}

void Ledger::take_past(std::vector<PastLease>& past, Time store_now) {
    std::ranges::sort(
        past, {}, [](const PastLease& one) { return std::pair{one.sequence, one.lease.fence}; });
    for (const PastLease& one : past) {
        const bool is_new = one.sequence > latest_ && one.sequence < first_unnoticed;
        const auto known = entries_.find(one.lease.key);
        const bool is_told =
            known != entries_.end() && find(known->second, one.lease.fence) != nullptr;
        if (is_new || is_told) end(entries_[one.lease.key], one, store_now);
    }
}

void Ledger::surveyed(Survey survey) {
    take_past(survey.past, survey.store_now);
    for (const PastLease& past : survey.past) latest_ = std::max(latest_, past.sequence);
    complete_ = survey.complete;
    for (const Holder& lease : survey.live) {
        Entry& entry = entries_[lease.key];
        if (entry.look != Look::none || has_ended(entry, lease.fence)) continue;
        if (Reported* const reported = find(entry, lease.fence)) {
            if (reported->survey != survey_) update(*reported, lease, survey.store_now);
        } else if (contradicts(entry, lease)) {
            want(lease.key);
        } else {
            grant(entry, lease, survey.store_now);
        }
    }
    std::vector<LockKey> vanished;
    for (const auto& [key, entry] : entries_) {
        if (!survey.complete && survey.live.back().key < key)
            continue;  // the survey ended before this key
        const bool all_seen = std::ranges::all_of(
            entry.live, [this](const auto& one) { return one.second.survey == survey_; });
        if (!all_seen) vanished.push_back(key);
    }
    for (const LockKey& key : vanished) want(key);
    forget_old_endings();
    keep_time(survey.store_now);
}

void Ledger::forget_old_endings() {
    for (auto at = entries_.begin(); at != entries_.end();) {
        Entry& entry = at->second;
        std::erase_if(entry.ended,
                      [this](const auto& ended) { return ended.second + 1 < survey_; });
        const bool empty = entry.live.empty() && entry.ended.empty() && entry.look == Look::none;
        at = empty ? entries_.erase(at) : std::next(at);
    }
}

void Ledger::is_alive(const Lease& lease) {
    Entry& entry = entries_[lease.key];
    if (entry.look == Look::under_way) entry.look = Look::again;
    if (entry.look != Look::none || has_ended(entry, lease.fence)) return;
    const Holder holder = holder_of(lease);
    if (Reported* const reported = find(entry, lease.fence)) {
        update(*reported, holder, lease.store_now);
    } else if (contradicts(entry, holder)) {
        want(lease.key);
    } else if (!complete_ && lease.granted_at != lease.store_now) {
        remember(entry, holder);
        tell_({.kind = Event::Kind::extended, .lease = holder, .store_now = lease.store_now});
    } else {
        grant(entry, holder, lease.store_now);
    }
}

void Ledger::was_released(const Lease& lease, const std::string& by) {
    Entry& entry = entries_[lease.key];
    if (entry.look == Look::under_way) entry.look = Look::again;
    if (entry.look != Look::none) return;
    const Holder holder = holder_of(lease);
    if (find(entry, lease.fence) == nullptr && contradicts(entry, holder)) return want(lease.key);
    end(entry, {.lease = holder, .how = Gone::released, .ended_at = lease.store_now, .by = by},
        lease.store_now);
}

void Ledger::want(const LockKey& key) {
    Entry& entry = entries_[key];
    if (entry.look == Look::wanted) return;
    entry.look = Look::wanted;
    wanted_.push_back(key);
}

std::vector<LockKey> Ledger::take_wanted(std::size_t most) {
    std::vector<LockKey> keys;
    while (keys.size() < most && !wanted_.empty()) {
        keys.push_back(std::move(wanted_.front()));
        wanted_.pop_front();
        entries_[keys.back()].look = Look::under_way;
    }
    return keys;
}

void Ledger::looked(const LockKey& key, const HolderPage& live, std::vector<PastLease> past,
                    Time store_now) {
    Entry& entry = entries_[key];
    const bool again = std::exchange(entry.look, Look::none) == Look::again;

    std::vector<Holder> before;
    for (const auto& [fence, reported] : entry.live) before.push_back(reported.lease);
    for (const Holder& lease : before) {
        const auto went_on = [&](const Holder& other) { return became(lease, other); };
        if (std::ranges::any_of(live, went_on) ||
            std::ranges::any_of(past, went_on, &PastLease::lease)) {
            forget(entry, lease.fence);
        }
    }
    take_past(past, store_now);
    for (const Holder& lease : before) {
        const bool is_alive = std::ranges::find(live, lease.fence, &Holder::fence) != live.end();
        const bool may_be_alive = is_alive || (live.cut && lease.expires_at > store_now);
        if (may_be_alive || find(entry, lease.fence) == nullptr) continue;
        const Gone how = lease.expires_at <= store_now ? Gone::expired : Gone::unknown;
        end(entry, {.lease = lease, .how = how, .ended_at = std::min(lease.expires_at, store_now)},
            store_now);
    }
    for (const Holder& lease : live) {
        if (has_ended(entry, lease.fence)) continue;
        if (Reported* const reported = find(entry, lease.fence)) {
            update(*reported, lease, store_now);
        } else {
            grant(entry, lease, store_now);
        }
    }
    if (again) want(key);
}

void Ledger::expect_expiries(Time store_now) {
    for (auto at = due_.begin(); at != due_.end() && at->first <= store_now; ++at) {
        if (entries_[at->second].look == Look::none) want(at->second);
    }
}

std::optional<Time> Ledger::next_expiry() const {
    if (due_.empty()) return std::nullopt;
    return due_.begin()->first;
}

}  // namespace leasehold::server
