// The floor under the memory store: one mutex, one hash map.
#include <leasehold/lock_id.hpp>

#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "contender.hpp"
#include "cycle.hpp"

namespace leasehold::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Key = std::pair<std::string, std::string>;

struct KeyHash {
    std::size_t operator()(const Key& key) const noexcept {
        const std::hash<std::string> hash;
        return hash(key.first) * 31 + hash(key.second);
    }
};

class BareMap {
public:
    bool try_lock(const Key& key, LockId lock_id) {
        const std::lock_guard lock{mutex_};
        const auto now = Clock::now();
        const auto [entry, added] = entries_.try_emplace(key, Entry{lock_id, now + cycle_ttl});
        if (added) return true;
        if (now < entry->second.expires_at) return false;
        entry->second = {lock_id, now + cycle_ttl};
        return true;
    }

    bool check(const Key& key, LockId lock_id) {
        const std::lock_guard lock{mutex_};
        return find(key, lock_id) != entries_.end();
    }

    bool extend(const Key& key, LockId lock_id) {
        const std::lock_guard lock{mutex_};
        const auto entry = find(key, lock_id);
        if (entry == entries_.end()) return false;
        entry->second.expires_at += cycle_extension;
        return true;
    }

    bool release(const Key& key, LockId lock_id) {
        const std::lock_guard lock{mutex_};
        const auto entry = find(key, lock_id);
        if (entry == entries_.end()) return false;
        entries_.erase(entry);
        return true;
    }

private:
    struct Entry {
        LockId lock_id;
        Clock::time_point expires_at;
    };
    using Entries = std::unordered_map<Key, Entry, KeyHash>;

    Entries::iterator find(const Key& key, LockId lock_id) {
        const auto entry = entries_.find(key);
        const bool alive = entry != entries_.end() && entry->second.lock_id == lock_id &&
                           Clock::now() < entry->second.expires_at;
        return alive ? entry : entries_.end();
    }

    std::mutex mutex_;
    Entries entries_;  // guarded by mutex_
};

class MemoryFloor final : public Contender {
public:
    void run_cycles(std::size_t thread, const std::atomic<bool>& stop,
                    std::atomic<std::uint64_t>& cycles) override {
        count_cycles(thread, stop, cycles, [this](std::string id) {
            const Key key{cycle_type, std::move(id)};
            const LockId lock_id = LockId::random();
            expect(map_.try_lock(key, lock_id), "try");
            expect(map_.check(key, lock_id), "check");
            expect(map_.extend(key, lock_id), "extend");
            expect(map_.release(key, lock_id), "release");
        });
    }

private:
    BareMap map_;
};

}  // namespace

std::unique_ptr<Contender> make_floor_memory() {
    return std::make_unique<MemoryFloor>();
}

}  // namespace leasehold::bench
