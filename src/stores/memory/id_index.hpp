#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <leasehold/lock_id.hpp>
#include <leasehold/lock_key.hpp>

namespace leasehold::memory {

// Finds the key of a lock id. A flat hash table with linear probing and without tombstones: when an
// id is removed, the ids behind it move up. Not thread-safe.
class IdIndex {
public:
    // The key must outlive its entry. An id that is already in the table keeps its key.
    void add(LockId id, const LockKey& key) {
        if (4 * (used_ + 1) > 3 * places_.size()) grow();
        Place& place = places_[find_place(id)];
        if (place.key != nullptr) return;
        place = {id, &key};
        ++used_;
    }

    [[nodiscard]] const LockKey* find(LockId id) const {
        return places_.empty() ? nullptr : places_[find_place(id)].key;
    }

    void remove(LockId id) {
        if (places_.empty()) return;
        std::size_t gap = find_place(id);
        if (places_[gap].key == nullptr) return;
        --used_;
        for (std::size_t at = next(gap); places_[at].key != nullptr; at = next(at)) {
            const std::size_t distance_to_gap = (at - gap) & mask();
            const std::size_t distance_to_home = (at - home(places_[at].id)) & mask();
            if (distance_to_home < distance_to_gap) continue;
            places_[gap] = places_[at];
            gap = at;
        }
        places_[gap] = {};
    }

private:
    struct Place {
        LockId id{};
        const LockKey* key = nullptr;  // nullptr: free
    };
    static constexpr std::size_t fewest_places = 16;

    [[nodiscard]] std::size_t mask() const { return places_.size() - 1; }
    [[nodiscard]] std::size_t home(LockId id) const { return std::hash<LockId>{}(id)&mask(); }
    [[nodiscard]] std::size_t next(std::size_t at) const { return (at + 1) & mask(); }

    // The place of the id, or the free place where it belongs.
    [[nodiscard]] std::size_t find_place(LockId id) const {
        std::size_t at = home(id);
        while (places_[at].key != nullptr && places_[at].id != id) at = next(at);
        return at;
    }

    void grow() {
        const std::vector<Place> before = std::exchange(
            places_, std::vector<Place>(places_.empty() ? fewest_places : 2 * places_.size()));
        for (const Place& place : before) {
            if (place.key != nullptr) places_[find_place(place.id)] = place;
        }
    }

    std::vector<Place> places_;  // a power of two of them, a quarter free
    std::size_t used_ = 0;
};

}  // namespace leasehold::memory
