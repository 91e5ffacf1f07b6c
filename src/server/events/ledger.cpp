#include "server/events/ledger.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/grant.hpp"
#include "core/keyed_hash.hpp"
#include "core/rules.hpp"

namespace leasehold::server {
namespace {

std::uint64_t hash_of(std::string_view text) {
    return KeyedTextHash{}(text);
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
    return lease.mode == Mode::exclusive || entry.live.begin()->second.mode == Mode::exclusive;
}

bool Ledger::became(Fence fence, const Reported& before, const Holder& after) {
    return before.mode == Mode::shared && after.fence > fence &&
           after.granted_at == before.granted_at && hash_of(after.owner) == before.owner;
}

Holder Ledger::lease_of(const LockKey& key, Fence fence, const Reported& reported) {
    Holder lease{.key = key,
                 .mode = reported.mode,
                 .fence = fence,
                 .granted_at = reported.granted_at,
                 .expires_at = reported.expires_at};
    if (reported.texts) {
        lease.owner = reported.texts->owner;
        lease.note = reported.texts->note;
    }
    return lease;
}

void Ledger::write_down(Reported& reported, const Holder& lease) {
    reported.mode = lease.mode;
    reported.granted_at = lease.granted_at;
    reported.expires_at = lease.expires_at;
    reported.owner = hash_of(lease.owner);
    reported.note = hash_of(lease.note);
    if (!reported.texts && texts_ < most_texts_) {
        reported.texts = std::make_unique<Texts>();
        ++texts_;
    }
    if (reported.texts) *reported.texts = {.owner = lease.owner, .note = lease.note};
}

void Ledger::await_expiry(Known& known, Fence fence, Reported& reported) {
    if (reported.due != due_.end()) due_.erase(std::exchange(reported.due, due_.end()));
    if (reported.expires_at == never) return;
    reported.due = due_.emplace(reported.expires_at, DueLease{&known, fence});
}

void Ledger::remember(Known& known, const Holder& lease) {
    const auto [at, is_new] = known.second.live.try_emplace(lease.fence);
    Reported& reported = at->second;
    if (is_new) reported.due = due_.end();
    reported.survey = survey_;
    write_down(reported, lease);
    await_expiry(known, lease.fence, reported);
}

void Ledger::forget(Entry& entry, Fence fence) {
    if (const auto at = entry.live.find(fence); at != entry.live.end()) {
        if (at->second.due != due_.end()) due_.erase(at->second.due);
        if (at->second.texts) --texts_;
        entry.live.erase(at);
    }
    entry.ended[fence] = survey_;
}

void Ledger::grant(Known& known, const Holder& lease, Time store_now) {
    remember(known, lease);
    tell_({.kind = Event::Kind::granted, .lease = lease, .store_now = store_now});
}

void Ledger::update(Known& known, Reported& reported, const Holder& lease, Time store_now) {
    reported.survey = survey_;
    const bool is_same = lease.expires_at == reported.expires_at && lease.mode == reported.mode &&
                         hash_of(lease.note) == reported.note;
    // An expiry never becomes earlier, so news of an earlier one is old.
    if (is_same || lease.expires_at < reported.expires_at) return;
    write_down(reported, lease);
    await_expiry(known, lease.fence, reported);
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

void Ledger::begin(Survey survey) {
    surveys_.clear();
    due_.clear();
    entries_.clear();
    texts_ = 0;
    wanted_.clear();
    latest_ = 0;
    surveyed(std::move(survey));
    work_.tells = false;
}

void Ledger::surveyed(Survey survey) {
    std::ranges::sort(survey.past, {}, [](const PastLease& one) {
        return std::pair{one.sequence, one.lease.fence};
    });
    work_ = {.survey = std::move(survey), .tells = true, .ended = false};
    if (!work_.survey.live.empty()) work_.last_live = work_.survey.live.back().key;
}

bool Ledger::work_off(std::size_t most) {
    auto& [survey, tells, past, live, ended, last_key, last_live] = work_;
    if (ended) return false;
    for (; most > 0 && past < survey.past.size(); ++past, --most) {
        if (tells) take_past(survey.past[past], survey.store_now);
    }
    if (most > 0 && live == 0) {
        for (const PastLease& one : survey.past) latest_ = std::max(latest_, one.sequence);
        complete_ = survey.complete;
    }
    for (; most > 0 && live < survey.live.size(); ++live, --most) take_live(survey.live[live]);
    if (most > 0) take_entries(most);
    return !work_.ended;
}

void Ledger::take_past(const PastLease& past, Time store_now) {
    const bool is_new = past.sequence > latest_ && past.sequence < first_unnoticed;
    const auto known = entries_.find(past.lease.key);
    const bool is_told =
        known != entries_.end() && find(known->second, past.lease.fence) != nullptr;
    if (is_new || is_told) end(entries_[past.lease.key], past, store_now);
}

void Ledger::take_live(const Holder& lease) {
    Known& key = known(lease.key);
    Entry& entry = key.second;
    if (!work_.tells) return remember(key, lease);
    if (entry.look != Look::none || has_ended(entry, lease.fence)) return;
    if (Reported* const reported = find(entry, lease.fence)) {
        if (reported->survey != survey_) update(key, *reported, lease, work_.survey.store_now);
    } else if (contradicts(entry, lease)) {
        want(lease.key);
    } else {
        grant(key, lease, work_.survey.store_now);
    }
}

// Looks at what vanished, and forgets old endings.
void Ledger::take_entries(std::size_t most) {
    auto at = work_.last_key ? entries_.upper_bound(*work_.last_key) : entries_.begin();
    for (; most > 0 && at != entries_.end(); --most) {
        auto& [key, entry] = *at;
        // A survey that is not complete ended at the last live lease.
        const bool surveyed = work_.survey.complete || key <= work_.last_live;
        const bool all_seen = std::ranges::all_of(
            entry.live, [this](const auto& one) { return one.second.survey == survey_; });
        if (surveyed && !all_seen) want(key);
        std::erase_if(entry.ended, [this](const auto& one) { return one.second + 1 < survey_; });
        const bool empty = entry.live.empty() && entry.ended.empty() && entry.look == Look::none;
        if (most == 1) work_.last_key = key;
        at = empty ? entries_.erase(at) : std::next(at);
    }
    if (at != entries_.end()) return;
    keep_time(work_.survey.store_now);
    work_ = {};
}

void Ledger::is_alive(const Lease& lease) {
    Known& key = known(lease.key);
    Entry& entry = key.second;
    if (entry.look == Look::under_way) entry.look = Look::again;
    if (entry.look != Look::none || has_ended(entry, lease.fence)) return;
    const Holder holder = holder_of(lease);
    if (Reported* const reported = find(entry, lease.fence)) {
        update(key, *reported, holder, lease.store_now);
    } else if (contradicts(entry, holder)) {
        want(lease.key);
    } else if (!complete_ && lease.granted_at != lease.store_now) {
        remember(key, holder);
        tell_({.kind = Event::Kind::extended, .lease = holder, .store_now = lease.store_now});
    } else {
        grant(key, holder, lease.store_now);
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
    Known& known = this->known(key);
    Entry& entry = known.second;
    const bool again = std::exchange(entry.look, Look::none) == Look::again;

    std::vector<Holder> before;
    std::vector<Fence> went_on;
    for (const auto& [fence, reported] : entry.live) {
        before.push_back(lease_of(key, fence, reported));
        const auto continues = [&](const Holder& other) { return became(fence, reported, other); };
        if (std::ranges::any_of(live, continues) ||
            std::ranges::any_of(past, continues, &PastLease::lease)) {
            went_on.push_back(fence);
        }
    }
    for (const Fence fence : went_on) forget(entry, fence);
    std::ranges::sort(
        past, {}, [](const PastLease& one) { return std::pair{one.sequence, one.lease.fence}; });
    for (const PastLease& one : past) take_past(one, store_now);
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
            update(known, *reported, lease, store_now);
        } else {
            grant(known, lease, store_now);
        }
    }
    for (auto& [fence, reported] : entry.live) {
        if (reported.due == due_.end()) await_expiry(known, fence, reported);
    }
    if (again) want(key);
}

std::size_t Ledger::expect_expiries(Time store_now, std::size_t most) {
    std::size_t taken = 0;
    for (; taken < most && !due_.empty() && due_.begin()->first <= store_now; ++taken) {
        const auto [known, fence] = due_.begin()->second;
        due_.erase(due_.begin());
        auto& [key, entry] = *known;
        find(entry, fence)->due = due_.end();
        if (entry.look == Look::none) want(key);
    }
    return taken;
}

std::optional<Time> Ledger::next_expiry() const {
    if (due_.empty()) return std::nullopt;
    return due_.begin()->first;
}

}  // namespace leasehold::server
