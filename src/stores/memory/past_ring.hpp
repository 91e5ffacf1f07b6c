#pragma once

#include <cstdint>
#include <vector>

#include "core/rules.hpp"

namespace leasehold::memory {

// The latest ended leases, found by lock id. Forgets the oldest when it is full. Not thread-safe.
class PastRing {
public:
    static constexpr std::size_t capacity = 256;

    struct Entry {
        LockId lock_id;
        Ended ended;
        std::int64_t sequence = 0;
        std::uint32_t next_in_bucket = none;
    };

    void push(Ended&& ended, std::int64_t sequence) {
        const LockId lock_id = ended.ending->grant.lock_id;
        const auto slot = static_cast<std::uint32_t>(pushed_++ % capacity);
        if (slot == entries_.size()) {
            entries_.push_back({lock_id, std::move(ended), sequence, none});
        } else {
            unlink(slot);
            entries_[slot] = {lock_id, std::move(ended), sequence, none};
        }
        std::uint32_t& head = bucket_of(slot);
        entries_[slot].next_in_bucket = head;
        head = slot;
        fetch_oldest();
    }

    [[nodiscard]] const Entry* find(LockId lock_id) const {
        for (auto at = buckets_[index_of(lock_id)]; at != none; at = entries_[at].next_in_bucket) {
            if (entries_[at].lock_id == lock_id) return &entries_[at];
        }
        return nullptr;
    }

    // In no order.
    [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }

private:
    static constexpr std::uint32_t none = UINT32_MAX;

    static std::size_t index_of(LockId lock_id) { return std::hash<LockId>{}(lock_id) % capacity; }

    std::uint32_t& bucket_of(std::uint32_t slot) {
        return buckets_[index_of(entries_[slot].lock_id)];
    }

    // The next entry to go left the processor's cache long ago: fetch it before it is needed.
    void fetch_oldest() const {
        const std::size_t oldest = pushed_ % capacity;
        if (oldest >= entries_.size()) return;
        const Ending* ending = entries_[oldest].ended.ending.get();
        __builtin_prefetch(ending);
        __builtin_prefetch(&ending->grant.note);
        __builtin_prefetch(&ending->why);
    }

    void unlink(std::uint32_t slot) {
        std::uint32_t* link = &bucket_of(slot);
        while (*link != slot) link = &entries_[*link].next_in_bucket;
        *link = entries_[slot].next_in_bucket;
    }

    std::vector<Entry> entries_;
    std::vector<std::uint32_t> buckets_ = std::vector<std::uint32_t>(capacity, none);
    std::uint64_t pushed_ = 0;
};

}  // namespace leasehold::memory
