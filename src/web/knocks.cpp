#include "web/knocks.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace leasehold::web {
namespace {

// Cut between two characters of UTF-8.
std::string beginning_of(std::string_view text, std::size_t characters) {
    const auto starts = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; };
    const auto end = std::ranges::find_if(text, [&, seen = std::size_t{0}](char c) mutable {
        return starts(c) && ++seen > characters;
    });
    return {text.begin(), end};
}

}  // namespace

void Knocks::add(const std::vector<Holder>& holders, Knock knock) {
    if (holders.empty()) return;
    knock.message = beginning_of(knock.message, longest_message);
    const LockKey& key = holders.front().key;
    std::vector<Fence> fences;
    for (const Holder& holder : holders) fences.push_back(holder.fence);

    const std::scoped_lock lock{mutex_};
    if (doors_.size() >= most_keys && !doors_.contains(key)) doors_.erase(doors_.begin());
    auto& door = doors_[key];
    std::erase_if(door, [&](const Heard& known) { return known.knock.by == knock.by; });
    if (door.size() == most_for_one_key) door.erase(door.begin());
    door.push_back({.knock = std::move(knock), .by = std::move(fences)});
}

std::vector<Knock> Knocks::on(const Lease& lease) {
    const std::scoped_lock lock{mutex_};
    std::vector<Knock> knocks;
    const auto door = doors_.find(lease.key);
    if (door == doors_.end()) return knocks;
    for (const Heard& heard : door->second) {
        if (std::ranges::find(heard.by, lease.fence) != heard.by.end()) {
            knocks.push_back(heard.knock);
        }
    }
    // An exclusive lease that nobody knocked on was granted after the leases that people knocked on
    // had ended.
    if (knocks.empty() && lease.mode == Mode::exclusive) doors_.erase(door);
    return knocks;
}

}  // namespace leasehold::web
