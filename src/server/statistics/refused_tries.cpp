#include "server/statistics/refused_tries.hpp"

#include <functional>

#include "core/keyed_hash.hpp"
#include "core/sizes.hpp"

namespace leasehold::server {
namespace {

std::size_t hash_of(const LockKey& key, std::string_view owner) {
    KeyedHash hash;
    hash.add(std::hash<LockKey>{}(key));
    hash.add(owner);
    return static_cast<std::size_t>(hash.finish());
}

// In an answer.
std::size_t size_of(const RefusedTries::Entry& entry) {
    constexpr std::size_t times_and_names = 128;
    return row_bytes + times_and_names + bytes_in_json(entry.key.type()) +
           bytes_in_json(entry.key.id()) + bytes_in_json(entry.owner);
}

}  // namespace

void RefusedTries::add(const LockKey& key, std::string_view owner, Time at) {
    const auto [known, fresh] =
        numbers_.try_emplace(hash_of(key, owner), dropped_ + entries_.size());
    if (!fresh) {
        Entry& entry = entries_[known->second - dropped_];
        if (entry.key == key && entry.owner == owner && at - entry.first < one_entry) {
            entry.last = at;
            ++entry.tries;
            return;
        }
        known->second = dropped_ + entries_.size();
    }
    entries_.push_back({.key = key, .owner = std::string{owner}, .first = at, .last = at});
    if (entries_.size() <= most_) return;
    const auto oldest = numbers_.find(hash_of(entries_.front().key, entries_.front().owner));
    if (oldest->second == dropped_) numbers_.erase(oldest);
    entries_.pop_front();
    ++dropped_;
}

std::vector<RefusedTries::Entry> RefusedTries::latest(const std::optional<LockKey>& key,
                                                      std::size_t most, const KeySet& among) const {
    std::vector<Entry> found;
    std::size_t bytes = 0;
    for (auto entry = entries_.rbegin(); entry != entries_.rend() && found.size() < most; ++entry) {
        if ((key && entry->key != *key) || !among.has(entry->key)) continue;
        bytes += size_of(*entry);
        if (bytes > Limits::page_bytes) break;
        found.push_back(*entry);
    }
    return found;
}

}  // namespace leasehold::server
