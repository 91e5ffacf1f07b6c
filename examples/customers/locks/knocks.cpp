#include "locks/knocks.hpp"

#include <algorithm>

namespace customers {

void Knocks::add(const std::vector<leasehold::Holder>& holders, const Knock& knock) {
    if (holders.empty()) return;
    Heard heard{.knock = knock, .by = {}};
    for (const leasehold::Holder& holder : holders) heard.by.push_back(holder.fence);
    const leasehold::LockKey& key = holders.front().key;

    const std::scoped_lock lock{mutex_};
    if (doors_.size() >= most_keys && !doors_.contains(key)) doors_.erase(doors_.begin());
    auto& door = doors_[key];
    std::erase_if(door, [&](const Heard& known) { return known.knock.by == knock.by; });
    if (door.size() == most_for_one_key) door.erase(door.begin());
    door.push_back(std::move(heard));
}

std::vector<Knock> Knocks::on(const leasehold::Lease& lease) {
    const std::scoped_lock lock{mutex_};
    std::vector<Knock> knocks;
    const auto door = doors_.find(lease.key);
    if (door == doors_.end()) return knocks;
    for (const Heard& heard : door->second) {
        if (std::ranges::find(heard.by, lease.fence) != heard.by.end()) {
            knocks.push_back(heard.knock);
        }
    }
    if (knocks.empty()) doors_.erase(door);
    return knocks;
}

}  // namespace customers
