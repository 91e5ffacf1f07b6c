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
#include "core/fresh_lock_id.hpp"
#include "core/release_in_parts.hpp"
#include "core/rules.hpp"
#include "core/sizes.hpp"
#include "stores/memory/id_index.hpp"
#include "stores/memory/past_ring.hpp"

namespace leasehold::memory {
namespace {

constexpr std::size_t shard_count = 32;
// Above this many keys a shard forgets free keys early.
constexpr std::size_t crowded_keys = 32'768;
// Housekeeping visits one shard after the other. In each visit it looks through this many hash
// buckets for every key that the shard got since the last one: so a shard forgets as fast as it
// grows. Callers that want the shard wait for the visit to end, so a visit is short.
constexpr std::size_t buckets_per_new_key = 4;
constexpr std::size_t fewest_buckets_a_visit = 16;
constexpr std::size_t most_buckets_a_visit = 1024;
// Fences follow the clock: a key may be forgotten once the clock is past its last fence.
constexpr std::chrono::seconds fence_margin{1};

// A part of the keys, with everything known about them.
struct alignas(64) Shard {
    using Keys = std::unordered_set<const LockKey*>;

    std::mutex mutex;
    std::unordered_map<LockKey, Cell> cells;         // guarded by mutex
    std::map<std::string, Keys, std::less<>> owned;  // guarded by mutex; of owners with a name
    IdIndex ids;                                     // guarded by mutex; of leases not ended
    PastRing past;                                   // guarded by mutex
    std::vector<Ended> endings;                      // guarded by mutex; of the decision being made
    std::size_t sweep_bucket = 0;                    // guarded by mutex; the next to look through
    std::size_t buckets_due = 0;                     // guarded by mutex; for housekeeping
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

    [[nodiscard]] std::size_t concurrency() const noexcept override { return any_number; }

    [[nodiscard]] StoreStatus status() override {
        return {.name = "memory",
                .durability = Durability::none,
                .warnings = {"leases live in this process and end with it"}};
    }

    // One visit. If a shard needed more than that, there is more to do after the last shard.
    [[nodiscard]] bool keep_house() noexcept override {
        const std::size_t at = house_shard_++ % shard_count;
        if (at == 0) house_behind_ = false;
        try {
            visit(shards_[at]);
        } catch (const std::bad_alloc&) {
            return false;
        }
        return house_behind_ || at + 1 < shard_count;
    }
    // The store may grow by millions of keys in a minute.
    [[nodiscard]] Duration housekeeping_interval() const noexcept override {
        return std::chrono::seconds{1};
    }

private:
    // One decision on cells of shards whose mutexes are held.
    class Decision {
    public:
        Decision(MemoryStore& store, std::span<Shard> shards)
            : store_{store},
              shards_{shards},
              endings_{shards.front().endings},
              past_{[this](LockId id) { return find_past(id); }},
              rules{store.clock_(), store.watch_, past_, endings_} {}

        Decision(MemoryStore& store, Shard& shard) : Decision{store, std::span{&shard, 1}} {}
        Decision(const Decision&) = delete;
        Decision& operator=(const Decision&) = delete;

        // Adds ended leases to the history, and updates the indexes.
        void settle() {
            for (Ended& ended : endings_) store_.forget_holder(std::move(ended), rules.now());
            endings_.clear();
        }

    private:
        [[nodiscard]] std::optional<Ended> find_past(LockId id) const {
            for (const Shard& shard : shards_) {
                const auto* entry = shard.past.find(id);
                if (entry != nullptr && entry->ended.ending->at > store_.oldest(rules.now())) {
                    return entry->ended;
                }
            }
            return std::nullopt;
        }

        MemoryStore& store_;
        std::span<Shard> shards_;
        std::vector<Ended>& endings_;
        PastLookup past_;

    public:
        Rules rules;
    };

    [[nodiscard]] Time oldest(Time now) const { return now - options_.retention; }

    Shard& shard_of(const LockKey& key) { return shards_[std::hash<LockKey>{}(key) % shard_count]; }

    Outcome answer(const TryLock& request) {
        if (!FreshLockId::is_fresh(request.lock_id)) return answer_known_id(request);
        Shard& shard = shard_of(request.key);
        const std::lock_guard lock{shard.mutex};
        Decision decision{*this, shard};
        return try_in(shard, request, decision);
    }

    // A lock id that the client drew may belong to any key, alive or dead.
    Outcome answer_known_id(const TryLock& request) {
        const auto locks = lock_all();
        if (names_another(request.lock_id, request.key)) return id_of_another_key();
        Decision decision{*this, shards_};
        return try_in(shard_of(request.key), request, decision);
    }

    Outcome try_in(Shard& shard, const TryLock& request, Decision& decision) {
        const auto [slot, added] = shard.cells.try_emplace(request.key);
        Outcome outcome = decision.rules.decide(request, slot->second);
        decision.settle();
        if (const auto* lease = std::get_if<Lease>(&outcome)) {
            own(shard, slot->first, *lease);
            if (added) shard.buckets_due += buckets_per_new_key;
        } else if (added) {
            shard.cells.erase(slot);
        }
        return outcome;
    }

    // Whether the id belongs to a lease on another key.
    [[nodiscard]] bool names_another(LockId id, const LockKey& key) const {
        return std::ranges::any_of(shards_, [&](const Shard& shard) {
            const LockKey* found = shard.ids.find(id);
            return found != nullptr && *found != key;
        });
    }

    Outcome answer(const TryLockAll& request) {
        const auto locks = lock_all();
        for (std::size_t i = 0; i < request.keys.size(); ++i) {
            const TryLockId& id = request.lock_ids[i];
            if (!FreshLockId::is_fresh(id) && names_another(id, request.keys[i]))
                return id_of_another_key();
        }
        std::vector<Cell*> cells;
        for (const LockKey& key : request.keys) {
            Shard& shard = shard_of(key);
            const auto [slot, added] = shard.cells.try_emplace(key);
            cells.push_back(&slot->second);
            if (added) shard.buckets_due += buckets_per_new_key;
        }
        Decision decision{*this, shards_};
        Outcome outcome = decision.rules.decide(request, cells);
        decision.settle();
        if (const auto* leases = std::get_if<std::vector<Lease>>(&outcome)) {
            for (const Lease& lease : *leases) {
                Shard& shard = shard_of(lease.key);
                own(shard, shard.cells.find(lease.key)->first, lease);
            }
        } else {
            for (std::size_t i = 0; i < cells.size(); ++i) {
                if (cells[i]->fence == 0) shard_of(request.keys[i]).cells.erase(request.keys[i]);
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
            if (const auto key = find_key(shard, request.lock_id)) {
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
        if (slot == shard.cells.end()) {
            Cell unknown;
            return decision.rules.decide(request, key, unknown);
        }
        Outcome outcome = decision.rules.decide(request, slot->first, slot->second);
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
        std::vector<Lease> released;
        if (request.key) {
            Shard& shard = shard_of(*request.key);
            const std::lock_guard lock{shard.mutex};
            Decision decision{*this, shard};
            const auto slot = shard.cells.find(*request.key);
            if (slot == shard.cells.end()) return released;
            decision.rules.release_all(request, slot->first, slot->second, released);
            decision.settle();
            return released;
        }
        const auto locks = lock_all();
        std::size_t owned = 0;
        for (const Shard& shard : shards_) owned += count_owned(shard, request);
        if (owned > Limits::released_at_once) return too_many_leases();
        for (Shard& shard : shards_) {
            Decision decision{*this, shard};
            for (const LockKey* key : keys_of(shard, request.owner, request.scope)) {
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
        if (slot == shard.cells.end()) return HolderPage{.store_now = clock_()};
        return Decision{*this, shard}.rules.holders(request.key, slot->second);
    }

    // Keeps the first rows only while it looks through all keys.
    Outcome answer(const List& request) {
        const auto place = [](const Holder& row) { return std::tie(row.key, row.fence); };
        std::vector<Holder> rows;  // a heap, its last row in front
        for (Shard& shard : shards_) {
            const std::lock_guard lock{shard.mutex};
            const Decision decision{*this, shard};
            for (const auto& [key, cell] : shard.cells) {
                if (request.type && key.type() != *request.type) continue;
                for (const Grant& grant : cell.grants) {
                    const auto at = std::tie(key, grant.fence);
                    if (request.after && at <= place(*request.after)) continue;
                    const bool full = rows.size() >= request.limit;
                    if (full && (rows.empty() || place(rows.front()) < at)) continue;
                    if (request.owner &&
                        !owner_matches(grant.owner, *request.owner, request.scope)) {
                        continue;
                    }
                    if (!decision.rules.is_alive(cell, grant)) continue;
                    if (full) {
                        std::ranges::pop_heap(rows, {}, place);
                        rows.pop_back();
                    }
                    rows.push_back(to_holder(key, grant));
                    std::ranges::push_heap(rows, {}, place);
                }
            }
        }
        std::ranges::sort_heap(rows, {}, place);
        HolderPage page{.items = std::move(rows), .store_now = clock_()};
        const bool full = page.size() == request.limit;
        const auto expired = std::erase_if(
            page.items, [&](const Holder& holder) { return holder.expires_at <= page.store_now; });
        cut_to_size(page);
        // Leases that expired while this looked may have kept others out of the page.
        page.cut = page.cut || (full && expired > 0 && !page.empty());
        return page;
    }

    Outcome answer(const History& request) {
        std::vector<PastLease> all;
        for (Shard& shard : shards_) {
            if (request.key && &shard != &shard_of(*request.key)) continue;
            const std::lock_guard lock{shard.mutex};
            const Time oldest_kept = oldest(clock_());
            for (const PastRing::Entry& entry : shard.past.entries()) {
                if (request.key && entry.ended.key != *request.key) continue;
                if (request.before && entry.sequence >= *request.before) continue;
                if (entry.ended.ending->at <= oldest_kept) continue;
                all.push_back(to_past(entry.ended, entry.sequence));
            }
        }
        if (asks_for_unnoticed(request)) {
            Shard& shard = shard_of(*request.key);
            const std::lock_guard lock{shard.mutex};
            if (const auto slot = shard.cells.find(*request.key); slot != shard.cells.end()) {
                std::ranges::move(Decision{*this, shard}.rules.unnoticed(request, slot->second),
                                  std::back_inserter(all));
            }
        }
        const auto page = std::min(request.limit, all.size());
        std::ranges::partial_sort(all, all.begin() + static_cast<std::ptrdiff_t>(page),
                                  std::greater<>{}, &PastLease::sequence);
        all.erase(all.begin() + static_cast<std::ptrdiff_t>(page), all.end());
        HistoryPage found{.items = std::move(all), .store_now = clock_()};
        cut_to_size(found);
        return found;
    }

    void visit(Shard& shard) {
        const std::lock_guard lock{shard.mutex};
        const std::size_t due = std::min(shard.buckets_due, shard.cells.bucket_count());
        const std::size_t now = std::clamp(due, fewest_buckets_a_visit, most_buckets_a_visit);
        shard.buckets_due = due > now ? due - now : 0;
        if (shard.buckets_due > 0) house_behind_ = true;
        Decision decision{*this, shard};
        sweep(shard, now, decision);
    }

    // A shard at a time.
    Outcome answer(const Purge& /*request*/) {
        const std::size_t at = purge_shard_++ % shard_count;
        Shard& shard = shards_[at];
        const std::lock_guard lock{shard.mutex};
        Decision decision{*this, shard};
        shard.sweep_bucket = 0;
        return Purged{.forgotten = sweep(shard, shard.cells.bucket_count(), decision),
                      .complete = at + 1 == shard_count};
    }

    std::vector<std::unique_lock<std::mutex>> lock_all() {
        std::vector<std::unique_lock<std::mutex>> locks;
        for (Shard& shard : shards_) locks.emplace_back(shard.mutex);
        return locks;
    }

    [[nodiscard]] std::optional<LockKey> find_key(Shard& shard, LockId lock_id) const {
        if (const LockKey* found = shard.ids.find(lock_id)) return *found;
        if (options_.history == StoreOptions::KeepHistory::off) {
            const auto last = std::ranges::find_if(shard.cells, [&](const auto& entry) {
                return entry.second.last && entry.second.last->grant.lock_id == lock_id;
            });
            if (last != shard.cells.end()) return last->first;
        }
        const auto* entry = shard.past.find(lock_id);
        return entry != nullptr ? std::optional{entry->ended.key} : std::nullopt;
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

    static std::size_t count_owned(const Shard& shard, const ReleaseAll& request) {
        std::size_t keys = 0;
        for (auto at = shard.owned.lower_bound(request.owner);
             at != shard.owned.end() && at->first.starts_with(request.owner); ++at) {
            if (owner_matches(at->first, request.owner, request.scope)) keys += at->second.size();
        }
        return keys;
    }

    static void own(Shard& shard, const LockKey& key, const Lease& lease) {
        shard.ids.add(lease.lock_id, key);
        if (!lease.owner.empty()) shard.owned[lease.owner].insert(&key);
    }

    void forget_holder(Ended&& ended, Time now) {
        Shard& shard = shard_of(ended.key);
        const Grant& grant = ended.ending->grant;
        shard.ids.remove(grant.lock_id);
        const auto& [key, cell] = *shard.cells.find(ended.key);
        const auto owner = shard.owned.find(grant.owner);
        // One owner may share a key with itself, through different tokens.
        const bool still_owned =
            std::ranges::find(cell.grants, grant.owner, &Grant::owner) != cell.grants.end();
        if (owner != shard.owned.end() && !still_owned) {
            owner->second.erase(&key);
            if (owner->second.empty()) shard.owned.erase(owner);
        }
        if (options_.history == StoreOptions::KeepHistory::on && ended.ending->at > oldest(now)) {
            shard.past.push(std::move(ended), ++sequence_);
        }
    }

    // Looks at some keys, continues from there next time, and forgets keys that have long been
    // free.
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
        }
        decision.settle();
        for (const LockKey* key : forgotten) shard.cells.erase(LockKey{*key});
        return forgotten.size();
    }

    const StoreOptions options_;
    const std::function<Time()> clock_;
    const StoreClock watch_{Duration::max()};  // our own clock makes no leaps
    std::array<Shard, shard_count> shards_;
    std::atomic<std::int64_t> sequence_{0};
    std::atomic<std::size_t> purge_shard_{0};
    std::size_t house_shard_ = 0;  // of housekeeping alone, which never runs twice at once
    bool house_behind_ = false;    // the same
};

}  // namespace

std::unique_ptr<Store> open(StoreOptions options, std::function<Time()> clock) {
    auto store = std::make_unique<MemoryStore>(options, std::move(clock));
    require_durability(options, store->status());
    return store;
}

}  // namespace leasehold::memory
