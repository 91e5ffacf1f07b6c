#include "server/waiting/knocks.hpp"

#include <algorithm>
#include <utility>

namespace leasehold::server {

std::optional<Knocks::Clock::duration> Knocks::add(const LockKey& key,
                                                   const std::vector<Holder>& holders, Knock knock,
                                                   Clock::time_point now) {
    const std::lock_guard lock{mutex_};
    make_room(key, now);
    std::deque<Kept>& kept = kept_[key];
    for (const Kept& earlier : kept) {
        const auto again = earlier.at + breather;
        if (earlier.knock.by == knock.by && now < again) return again - now;
    }
    if (kept.size() == most_per_key) {
        const auto again = kept.front().at + breather;
        if (now < again) return again - now;
        kept.pop_front();
    }
    Kept& added = kept.emplace_back(std::move(knock), now);
    for (const Holder& holder : holders) added.fences.push_back(holder.fence);
    keys_ = kept_.size();
    return std::nullopt;
}

void Knocks::make_room(const LockKey& key, Clock::time_point now) {
    std::erase_if(kept_, [now](const auto& one) {
        return one.second.empty() || one.second.back().at + kept_for <= now;
    });
    if (kept_.size() < most_keys || kept_.contains(key)) return;
    kept_.erase(
        std::ranges::min_element(kept_, {}, [](const auto& one) { return one.second.back().at; }));
}

std::vector<Knock> Knocks::find(const LockKey& key, Fence fence, Clock::time_point now) const {
    const std::lock_guard lock{mutex_};
    std::vector<Knock> found;
    const auto at = kept_.find(key);
    if (at == kept_.end()) return found;
    for (const Kept& kept : at->second) {
        const bool concerned =
            std::ranges::find(kept.fences, fence) != kept.fences.end() && now < kept.at + kept_for;
        if (concerned) found.push_back(kept.knock);
    }
    return found;
}

}  // namespace leasehold::server
