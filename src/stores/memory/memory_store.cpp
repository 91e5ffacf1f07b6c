#include <leasehold/stores/memory.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/cell_store.hpp"
#include "core/rules.hpp"
#include "stores/memory/past_ring.hpp"

namespace leasehold::memory {
namespace {

constexpr std::size_t shard_count = 16;
// More than a machine has cores, so that nobody ever waits for another's turn.
constexpr std::size_t threads_at_once = 1024;
// Above this many keys a shard forgets free keys early.
constexpr std::size_t crowded_keys = 65'536;
// How many hash buckets a grant of a new key looks through for something to forget.
constexpr std::size_t buckets_swept_per_key = 4;
// Fences follow the clock: a key may be forgotten once its last fence lies behind.
constexpr std::chrono::seconds fence_margin{1};

// Some of the keys, with all that is known of them.
struct Shard {
    using Keys = std::unordered_set<const LockKey*>;

    std::mutex mutex;
    std::unordered_map<LockKey, Cell> cells;         // guarded by mutex
    std::map<std::string, Keys, std::less<>> owned;  // guarded by mutex; of owners with a name
    PastRing past;                                   // guarded by mutex
    std::size_t sweep_bucket = 0;                    // guarded by mutex
};

std::function<Time()> machine_clock() {
    const auto start = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
    return [start, steady_start = SteadyClock::now()] {
        return start + (SteadyClock::now() - steady_start);
    };
}

class MemoryStore final : public Store {
public:
    MemoryStore(const StoreOptions& options, std::function<Time()> clock)
        : options_{options}, clock_{clock ? std::move(clock) : machine_clock()} {}

    void apply(std::span<const Request> requests, std::span<Outcome> outcomes) override {
        for (std::size_t i = 0; i < requests.size(); ++i) {
            outcomes[i] = std::visit([this](const auto& r) { return answer(r); }, requests[i]);
        }
    }

    [[nodiscard]] std::size_t concurrency() const noexcept override { return threads_at_once; }

    [[nodiscard]] StoreStatus status() override {
        return {.name = "memory",
                .durability = Durability::none,
                .warnings = {"leases live in this process and end with it"}};
    }

private:
    // One decision in one shard whose mutex is held.
    class Decision {
    public:
        Decision(MemoryStore& store, Shard& shard)
            : store_{store},
              shard_{shard},
              past_{[&shard](LockId id) -> std::optional<Ended> {
                  const auto* entry = shard.past.find(id);
                  return entry != nullptr ? std::optional{entry->ended} : std::nullopt;
              }},
              rules{store.clock_(), store.watch_, past_, endings_} {}

        Decision(const Decision&) = delete;
        Decision& operator=(const Decision&) = delete;

        // Keeps what ended as history, and the index of owners true.
        void settle() {
            for (Ended& ended : endings_) {
                store_.disown(shard_, ended);
                if (store_.options_.history == StoreOptions::KeepHistory::on) {
                    shard_.past.push(std::move(ended), ++store_.sequence_);
                }
            }
            endings_.clear();
        }

    private:
        MemoryStore& store_;
        Shard& shard_;
        std::vector<Ended> endings_;
        PastLookup past_;

    public:
        Rules rules;
    };

    Shard& shard_of(const LockKey& key) { return shards_[std::hash<LockKey>{}(key) % shard_count]; }

    Outcome answer(const TryLock& request) {
        Shard& shard = shard_of(request.key);
        const std::lock_guard lock{shard.mutex};
        Decision decision{*this, shard};
        const auto [slot, added] = shard.cells.try_emplace(request.key);
        Outcome outcome = decision.rules.decide(request, slot->second);
        decision.settle();
        if (std::holds_alternative<Lease>(outcome)) {
            own(shard, slot->first, request.owner);
            if (added) sweep(shard, buckets_swept_per_key, decision);
        } else if (added) {
            shard.cells.erase(slot);
        }
        return outcome;
    }

    Outcome answer(const TryLockAll& request) {
        std::vector<Shard*> shards;
        for (const LockKey& key : request.keys) shards.push_back(&shard_of(key));
        const auto locks = lock_all(shards);

        std::vector<Cell*> cells;
        std::vector<const LockKey*> keys;
        for (std::size_t i = 0; i < request.keys.size(); ++i) {
            auto& [key, cell] = *shards[i]->cells.try_emplace(request.keys[i]).first;
            keys.push_back(&key);
            cells.push_back(&cell);
        }
        // The keys' pasts lie in different shards.
        std::vector<Ended> endings;
        const PastLookup past = [&](LockId id) -> std::optional<Ended> {
            for (Shard* shard : shards) {
                if (const auto* entry = shard->past.find(id)) return entry->ended;
            }
            return std::nullopt;
        };
        Rules rules{clock_(), watch_, past, endings};
        Outcome outcome = rules.decide(request, cells);
        for (Ended& ended : endings) {
            Shard& shard = shard_of(ended.key);
            disown(shard, ended);
            if (options_.history == StoreOptions::KeepHistory::on) {
                shard.past.push(std::move(ended), ++sequence_);
            }
        }
        for (std::size_t i = 0; i < keys.size(); ++i) {
            if (std::holds_alternative<std::vector<Lease>>(outcome)) {
                own(*shards[i], *keys[i], request.owner);
            } else if (cells[i]->fence == 0) {
                shards[i]->cells.erase(request.keys[i]);
            }
        }
        return outcome;
    }

    // Check, Extend, Renew, Release: the key is optional.
    template <class R>
    Outcome answer(const R& request)
        requires requires { request.lock_id; }
    {
        if (request.key) {
            Shard& shard = shard_of(*request.key);
            const std::lock_guard lock{shard.mutex};
            return decide_in(shard, request, *request.key);
        }
        for (Shard& shard : shards_) {
            const std::lock_guard lock{shard.mutex};
            if (const LockKey* key = find_key(shard, request.lock_id)) {
                return decide_in(shard, request, *key);
            }
        }
        Refusal refusal;
        refusal.store_now = clock_();
        return refusal;
    }

    template <class R>
    Outcome decide_in(Shard& shard, const R& request, const LockKey& key) {
        Decision decision{*this, shard};
        const auto slot = shard.cells.find(key);
        Cell unknown;
        Cell& cell = slot != shard.cells.end() ? slot->second : unknown;
        Outcome outcome = decision.rules.decide(request, key, cell);
        decision.settle();
        return outcome;
    }

    Outcome answer(const Break& request) {
        Shard& shard = shard_of(request.key);
        const std::lock_guard lock{shard.mutex};
        Decision decision{*this, shard};
        const auto slot = shard.cells.find(request.key);
        Cell unknown;
        Outcome outcome =
            decision.rules.decide(request, slot != shard.cells.end() ? slot->second : unknown);
        decision.settle();
        return outcome;
    }

    Outcome answer(const ReleaseAll& request) {
        const auto locks = lock_all();
        std::vector<Lease> released;
        for (Shard& shard : shards_) {
            Decision decision{*this, shard};
            for (const LockKey* key : keys_of(shard, request.owner, request.scope)) {
                if (request.key && *request.key != *key) continue;
                decision.rules.release_all(request, *key, shard.cells.at(*key), released);
            }
            decision.settle();
        }
        return released;
    }

    Outcome answer(const Holders& request) {
        Shard& shard = shard_of(request.key);
        const std::lock_guard lock{shard.mutex};
        const auto slot = shard.cells.find(request.key);
        if (slot == shard.cells.end()) return std::vector<Holder>{};
        return Decision{*this, shard}.rules.holders(request.key, slot->second);
    }

    Outcome answer(const List& request) {
        std::vector<Holder> all;
        for (Shard& shard : shards_) {
            const std::lock_guard lock{shard.mutex};
            const Decision decision{*this, shard};
            for (const auto& [key, cell] : shard.cells) {
                if (request.type && key.type() != *request.type) continue;
                std::ranges::copy_if(
                    decision.rules.holders(key, cell), std::back_inserter(all),
                    [&](const Holder& holder) {
                        if (request.owner &&
                            !owner_matches(holder.owner, *request.owner, request.scope)) {
                            return false;
                        }
                        return !request.after || std::tie(request.after->key, request.after->fence) <
                                                     std::tie(holder.key, holder.fence);
                    });
            }
        }
        const auto page = std::min(request.limit, all.size());
        std::ranges::partial_sort(all, all.begin() + static_cast<std::ptrdiff_t>(page), {},
                                  [](const Holder& h) { return std::tie(h.key, h.fence); });
        all.erase(all.begin() + static_cast<std::ptrdiff_t>(page), all.end());
        return all;
    }

    Outcome answer(const History& request) {
        std::vector<PastLease> all;
        for (Shard& shard : shards_) {
            const std::lock_guard lock{shard.mutex};
            const Time oldest = clock_() - options_.retention;
            for (const PastRing::Entry& entry : shard.past.entries()) {
                if (request.key && entry.ended.key != *request.key) continue;
                if (request.before && entry.sequence >= *request.before) continue;
                if (entry.ended.ending.at < oldest) continue;
                all.push_back(to_past(entry.ended, entry.sequence));
            }
        }
        if (request.key && !request.before) {
            Shard& shard = shard_of(*request.key);
            const std::lock_guard lock{shard.mutex};
            if (const auto slot = shard.cells.find(*request.key); slot != shard.cells.end()) {
                Decision{*this, shard}.rules.append_expired(*request.key, slot->second, all);
            }
        }
        const auto page = std::min(request.limit, all.size());
        std::ranges::partial_sort(all, all.begin() + static_cast<std::ptrdiff_t>(page),
                                  std::greater<>{}, &PastLease::sequence);
        all.erase(all.begin() + static_cast<std::ptrdiff_t>(page), all.end());
        return all;
    }

    Outcome answer(const Purge& request) {
        Purged purged;
        Shard& shard = shards_[purge_shard_ % shard_count];
        const std::lock_guard lock{shard.mutex};
        Decision decision{*this, shard};
        purged.forgotten = sweep(shard, request.rows, decision);
        if (shard.sweep_bucket == 0) purged.complete = ++purge_shard_ % shard_count == 0;
        return purged;
    }

    std::vector<std::unique_lock<std::mutex>> lock_all() {
        std::vector<std::unique_lock<std::mutex>> locks;
        for (Shard& shard : shards_) locks.emplace_back(shard.mutex);
        return locks;
    }

    static std::vector<std::unique_lock<std::mutex>> lock_all(std::vector<Shard*> shards) {
        std::ranges::sort(shards);
        const auto repeated = std::ranges::unique(shards);
        shards.erase(repeated.begin(), repeated.end());
        std::vector<std::unique_lock<std::mutex>> locks;
        for (Shard* shard : shards) locks.emplace_back(shard->mutex);
        return locks;
    }

    // Without its key a lease has to be looked for.
    static const LockKey* find_key(Shard& shard, LockId lock_id) {
        for (const auto& [key, cell] : shard.cells) {
            for (const Grant& grant : cell.grants) {
                if (grant.lock_id == lock_id) return &key;
            }
            if (cell.last && cell.last->grant.lock_id == lock_id) return &key;
        }
        const auto* entry = shard.past.find(lock_id);
        return entry != nullptr ? &entry->ended.key : nullptr;
    }

    static std::vector<const LockKey*> keys_of(Shard& shard, const std::string& owner,
                                               OwnerScope scope) {
        std::vector<const LockKey*> keys;
        for (auto at = shard.owned.lower_bound(owner);
             at != shard.owned.end() && at->first.starts_with(owner); ++at) {
            if (!owner_matches(at->first, owner, scope)) continue;
            keys.insert(keys.end(), at->second.begin(), at->second.end());
        }
        std::ranges::sort(keys, {}, [](const LockKey* key) -> const LockKey& { return *key; });
        const auto repeated = std::ranges::unique(keys);
        keys.erase(repeated.begin(), repeated.end());
        return keys;
    }

    static void own(Shard& shard, const LockKey& key, const std::string& owner) {
        if (!owner.empty()) shard.owned[owner].insert(&key);
    }

    static void disown(Shard& shard, const Ended& ended) {
        const auto owner = shard.owned.find(ended.ending.grant.owner);
        if (owner == shard.owned.end()) return;
        owner->second.erase(&shard.cells.find(ended.key)->first);
        if (owner->second.empty()) shard.owned.erase(owner);
    }

    // Looks at some keys, goes on from there next time, and forgets those that are free for long.
    std::size_t sweep(Shard& shard, std::size_t buckets, Decision& decision) {
        const Time now = clock_();
        const Duration retention =
            shard.cells.size() > crowded_keys ? Duration{fence_margin} : options_.retention;
        std::vector<const LockKey*> forgotten;
        for (; buckets > 0; --buckets) {
            const std::size_t bucket = shard.sweep_bucket % shard.cells.bucket_count();
            for (auto at = shard.cells.begin(bucket); at != shard.cells.end(bucket); ++at) {
                auto& [key, cell] = *at;
                if (decision.rules.end_if_dead_since(key, cell, now - retention)) {
                    forgotten.push_back(&key);
                }
            }
            shard.sweep_bucket = (bucket + 1) % shard.cells.bucket_count();
            if (shard.sweep_bucket == 0) break;
        }
        decision.settle();
        for (const LockKey* key : forgotten) shard.cells.erase(LockKey{*key});
        return forgotten.size();
    }

    const StoreOptions options_;
    const std::function<Time()> clock_;
    const StoreClock watch_{Duration::max()};  // a clock of our own makes no leaps
    std::array<Shard, shard_count> shards_;
    std::atomic<std::int64_t> sequence_{0};
    std::atomic<std::size_t> purge_shard_{0};
};

}  // namespace

std::unique_ptr<Store> open(StoreOptions options, std::function<Time()> clock) {
    auto store = std::make_unique<MemoryStore>(options, std::move(clock));
    require_durability(options, store->status());
    return store;
}

}  // namespace leasehold::memory
