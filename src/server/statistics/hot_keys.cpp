#include "server/statistics/hot_keys.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace leasehold::server {

void HotKeys::tried(const LockKey& key, Answer answer, Clock::time_point now) {
    cool_down(now);
    Group& group = places_[std::hash<LockKey>{}(key) % groups];
    auto place =
        std::ranges::find_if(group, [&](const auto& one) { return one && one->heat.key == key; });
    if (place == group.end()) {
        place = std::ranges::min_element(group, {}, tries_of);
        *place = Place{.heat = {.key = key}, .inherited = tries_of(*place)};
    }
    Heat& heat = (*place)->heat;
    ++heat.tries;
    if (answer == Answer::refused) ++heat.refusals;
}

std::vector<HotKeys::Heat> HotKeys::hottest(std::size_t most, Clock::time_point now,
                                            const KeySet& among) {
    cool_down(now);
    std::vector<Heat> all;
    for (const Group& group : places_) {
        for (const auto& place : group) {
            if (!place || !among.has(place->heat.key)) continue;
            Heat heat = place->heat;
            if (among.has_every_key()) heat.tries = place->tries();
            if (heat.tries > 0) all.push_back(std::move(heat));
        }
    }
    const auto end = all.begin() + static_cast<std::ptrdiff_t>(std::min(most, all.size()));
    std::ranges::partial_sort(all, end, std::ranges::greater{}, &Heat::tries);
    all.erase(end, all.end());
    return all;
}

void HotKeys::cool_down(Clock::time_point now) {
    for (; now >= next_halving_; next_halving_ += half_life) {
        for (Group& group : places_) {
            for (auto& place : group) {
                if (!place) continue;
                place->inherited /= 2;
                place->heat.tries /= 2;
                place->heat.refusals /= 2;
                if (place->tries() == 0) place.reset();
            }
        }
    }
}

}  // namespace leasehold::server
