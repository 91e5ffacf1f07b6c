#include "server/statistics/refused_tries.hpp"

#include <functional>

#include "core/keyed_hash.hpp"

namespace leasehold::server {
namespace {

std::size_t hash_of(const LockKey& key, std::string_view owner) {
    KeyedHash hash;
    hash.add(std::hash<LockKey>{}(key));
    hash.add(owner);
    return static_cast<std::size_t>(hash.finish());
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
    for (auto entry = entries_.rbegin(); entry != entries_.rend() && found.size() < most; ++entry) {
        if ((!key || entry->key == *key) && among.has(entry->key)) found.push_back(*entry);
    }
    return found;
}

}  // namespace leasehold::server
