#pragma once

#include <chrono>
#include <cstddef>
#include <iterator>
#include <list>
#include <unordered_map>

#include <leasehold/store.hpp>

namespace leasehold::server {

// Remembers for a moment since when a client has waited after its wait has ended. If the client
// asks for the same key again, with the same lock id, it gets its place in the line back.
class KeptPlaces {
public:
    using Clock = std::chrono::steady_clock;

    // Keeps the latest `most` places.
    KeptPlaces(std::chrono::milliseconds kept_for, std::size_t most)
        : kept_for_{kept_for}, most_{most} {}

    void keep(const TryLock& wanted, Clock::time_point since, Clock::time_point now) {
        forget(wanted.lock_id);
        places_.push_back({wanted.key, wanted.lock_id, since, now + kept_for_});
        by_id_[wanted.lock_id] = std::prev(places_.end());
        while (places_.size() > most_) forget(LockId{places_.front().lock_id});
    }

    // Since when the client has waited: `now` if no place is kept for it.
    [[nodiscard]] Clock::time_point take(const TryLock& wanted, Clock::time_point now) {
        while (!places_.empty() && places_.front().until <= now) {
            forget(LockId{places_.front().lock_id});
        }
        const auto found = by_id_.find(wanted.lock_id);
        if (found == by_id_.end() || found->second->key != wanted.key) return now;
        const Clock::time_point since = found->second->since;
        forget(wanted.lock_id);
        return since;
    }

private:
    struct Place {
        LockKey key;
        LockId lock_id;
        Clock::time_point since;
        Clock::time_point until;
    };

    void forget(const LockId& lock_id) {
        const auto found = by_id_.find(lock_id);
        if (found == by_id_.end()) return;
        places_.erase(found->second);
        by_id_.erase(found);
    }

    const std::chrono::milliseconds kept_for_;
    const std::size_t most_;
    std::list<Place> places_;  // in the order of `until`
    std::unordered_map<LockId, std::list<Place>::iterator> by_id_;
};

}  // namespace leasehold::server
