#include "core/knocks.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace leasehold {
namespace {

using Counts = std::map<std::string_view, std::size_t>;

// The client with the highest count, where `asking` counts with one more.
std::string_view fullest_of(Counts counts, std::string_view asking) {
    if (const auto own = counts.find(asking); own != counts.end()) ++own->second;
    return std::ranges::max_element(counts, {}, &Counts::value_type::second)->first;
}

}  // namespace

std::optional<Knocks::Clock::duration> Knocks::add(const LockKey& key,
                                                   const std::vector<Holder>& holders, Knock knock,
                                                   Clock::time_point now) {
    const std::lock_guard lock{mutex_};
    make_room(key, knock.client, now);
    Line& line = kept_[key];
    if (const auto pause = pause_before(line, knock, now)) {
        for (Kept& earlier : line) {
            if (earlier.knock.by == knock.by) ++earlier.came_early;
        }
        return pause;
    }
    if (line.size() == most_per_key) line.erase(replaced_by(knock.client, line));
    Fence newest{};
    for (const Holder& holder : holders) newest = std::max(newest, holder.fence);
    line.push_back({.knock = std::move(knock), .at = now, .newest = newest});
    keys_ = kept_.size();
    return std::nullopt;
}

std::optional<Knocks::Clock::duration> Knocks::pause_of(const LockKey& key, const Knock& knock,
                                                        Clock::time_point now) const {
    const std::lock_guard lock{mutex_};
    const auto line = kept_.find(key);
    if (line == kept_.end()) return std::nullopt;
    const bool too_often = std::ranges::any_of(line->second, [&](const Kept& earlier) {
        return earlier.came_early >= most_early && earlier.knock.by == knock.by;
    });
    return too_often ? pause_before(line->second, knock, now) : std::nullopt;
}

std::optional<Knocks::Clock::duration> Knocks::pause_before(const Line& line, const Knock& knock,
                                                            Clock::time_point now) {
    for (const Kept& earlier : line) {
        const auto again = earlier.at + breather;
        if (earlier.knock.by == knock.by && now < again) return again - now;
    }
    if (line.size() < most_per_key) return std::nullopt;
    const auto replaced = replaced_by(knock.client, line);
    const auto knocks_of = [&](const std::string& client) {
        return std::ranges::count(line, client, client_of);
    };
    const bool has_more = knocks_of(replaced->knock.client) > knocks_of(knock.client) + 1;
    const auto again = replaced->at + breather;
    if (has_more || again <= now) return std::nullopt;
    return again - now;
}

Knocks::Line::const_iterator Knocks::replaced_by(const std::string& client, const Line& line) {
    Counts knocks;
    for (const Kept& kept : line) ++knocks[kept.knock.client];
    const std::string_view fullest = fullest_of(std::move(knocks), client);
    return std::ranges::find(line, fullest, client_of);
}

void Knocks::make_room(const LockKey& key, const std::string& client, Clock::time_point now) {
    std::erase_if(kept_, [now](const auto& one) {
        return one.second.empty() || one.second.back().at + kept_for <= now;
    });
    while (kept_.size() >= most_keys && !kept_.contains(key)) forget_oldest_of(fullest(client));
}

std::string Knocks::fullest(const std::string& asking) const {
    Counts keys;
    for (const auto& [key, line] : kept_) ++keys[client_of(line.back())];
    return std::string{fullest_of(std::move(keys), asking)};
}

void Knocks::forget_oldest_of(const std::string& client) {
    const auto is_its = [&](const Kept& kept) { return kept.knock.client == client; };
    const auto last_of = [&](const auto& one) {
        auto last = Clock::time_point::max();  // it has not knocked on this key
        for (const Kept& kept : one.second) {
            if (is_its(kept)) last = kept.at;
        }
        return last;
    };
    const auto oldest = std::ranges::min_element(kept_, {}, last_of);
    std::erase_if(oldest->second, is_its);
    if (oldest->second.empty()) kept_.erase(oldest);
}

std::vector<Knock> Knocks::find(const LockKey& key, Fence fence, Clock::time_point now) const {
    const std::lock_guard lock{mutex_};
    std::vector<Knock> found;
    const auto at = kept_.find(key);
    if (at == kept_.end()) return found;
    for (const Kept& kept : at->second) {
        if (fence <= kept.newest && now < kept.at + kept_for) found.push_back(kept.knock);
    }
    return found;
}

}  // namespace leasehold
