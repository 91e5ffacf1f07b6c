#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include <leasehold/store.hpp>

#include "core/work.hpp"

namespace leasehold {

template <class R>
constexpr bool works_on_cells =
    !std::is_same_v<R, List> && !std::is_same_v<R, History> && !std::is_same_v<R, Purge>;

template <class R>
concept AnyTry = std::is_same_v<R, TryLock> || std::is_same_v<R, TryLockAll>;

template <class R>
concept ByLockId = requires(const R& request) {
    request.key.has_value();
    request.lock_id;
};

[[nodiscard]] std::span<const LockId> tried_ids(const TryLock& request);
[[nodiscard]] std::span<const LockId> tried_ids(const TryLockAll& request);
[[nodiscard]] std::span<const LockKey> tried_keys(const TryLock& request);
[[nodiscard]] std::span<const LockKey> tried_keys(const TryLockAll& request);

// Which keys lock ids belong or belonged to.
using Located = std::unordered_map<LockId, LockKey>;

// The lock ids to locate before there can be a plan: of requests that do not name their keys, and
// those that a try's sender drew, which may be those of other keys.
[[nodiscard]] std::vector<LockId> ids_to_locate(std::span<const Request> requests,
                                                std::span<const std::size_t> which);

// Which cells the requests of one transaction are about. The requests outlive it.
class Plan {
public:
    using KeysOf = std::function<std::vector<LockKey>(const std::string& owner, OwnerScope scope)>;

    // `located`: nothing where there was no lock id to locate. `keys_of` tells where an owner has
    // leases in the database.
    Plan(std::optional<Located> located, KeysOf keys_of);

    // In the order in which they are to be decided.
    void add(std::size_t index, const Request& request);

    // After the last one.
    [[nodiscard]] Work lay_out();

    [[nodiscard]] bool writes() const { return writes_; }
    [[nodiscard]] std::size_t size() const { return entries_.size(); }
    [[nodiscard]] std::size_t index(std::size_t entry) const { return entries_[entry].index; }
    // In Work::slots.
    [[nodiscard]] std::span<const std::size_t> slots(std::size_t entry) const {
        return std::span{slots_}.subspan(entries_[entry].first, entries_[entry].count);
    }
    // With what is tried.
    [[nodiscard]] const std::optional<Located>& located() const { return located_; }

private:
    struct Entry {
        std::size_t index;
        std::size_t first;  // in slots_
        std::size_t count;
    };
    struct Wanted {
        const LockKey* key;
        Slot::Intent intent;
        std::size_t position;  // in slots_
    };
    // What is granted earlier in a batch cannot be found in the database yet.
    struct Tried {
        const LockKey* key;
        const std::string* owner;
    };

    [[nodiscard]] std::span<const LockKey> keys_of(const AnyTry auto& request);
    [[nodiscard]] std::span<const LockKey> keys_of(const ReleaseAll& request);
    [[nodiscard]] std::span<const LockKey> keys_of(const Break& request);
    [[nodiscard]] std::span<const LockKey> keys_of(const Holders& request);
    [[nodiscard]] std::span<const LockKey> keys_of(const ByLockId auto& request);

    std::optional<Located> located_;
    KeysOf keys_of_owner_;
    bool writes_ = false;
    std::vector<Entry> entries_;
    std::vector<Wanted> wanted_;
    std::vector<std::size_t> slots_;
    std::vector<LockId> lock_ids_;  // whose pasts are wanted
    std::vector<Tried> tried_;
    std::deque<std::vector<LockKey>> owned_;
};

}  // namespace leasehold
