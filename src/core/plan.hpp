#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <leasehold/request.hpp>

#include "core/request_traits.hpp"
#include "core/work.hpp"

namespace leasehold {

// Which keys lock ids belong or belonged to.
using Located = std::unordered_map<LockId, LockKey>;

// The lock ids to locate before the plan can be made: the lock ids of requests without a key, and
// the lock ids of tries that were sent before, perhaps for another key.
[[nodiscard]] std::vector<LockId> ids_to_locate(std::span<const Request> requests,
                                                std::span<const std::size_t> which);

// Which cells each request of one transaction needs. The requests outlive the plan.
class Plan {
public:
    using KeysOf = std::function<std::optional<std::vector<LockKey>>(const std::string& owner,
                                                                     OwnerScope scope)>;

    // `located` is nothing if no lock id had to be located. `keys_of` returns the keys on which an
    // owner has leases in the database, or nothing if they are too many for one transaction.
    Plan(std::optional<Located> located, KeysOf keys_of);

    // Call it in the order in which the requests are decided. False, and the plan is unchanged, if
    // the request is too large for one transaction.
    [[nodiscard]] bool add(std::size_t index, const Request& request);

    // Call it after the last add(). Returns one slot for each key, in the order of the keys.
    [[nodiscard]] Work lay_out();

    [[nodiscard]] bool writes() const { return writes_; }
    [[nodiscard]] std::size_t size() const { return entries_.size(); }
    [[nodiscard]] std::size_t index(std::size_t entry) const { return entries_[entry].index; }
    // In Work::slots.
    [[nodiscard]] std::span<const std::size_t> slots(std::size_t entry) const {
        return std::span{slots_}.subspan(entries_[entry].first, entries_[entry].count);
    }
    // The located lock ids, and the lock ids of the tries in the plan.
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
    // A key that a request tries. The database does not show yet what the batch itself grants.
    struct Tried {
        const LockKey* key;
        const std::string* owner;
    };

    [[nodiscard]] std::span<const LockKey> keys_of(const AnyTry auto& request);
    [[nodiscard]] std::optional<std::span<const LockKey>> keys_of(const ReleaseAll& request);
    [[nodiscard]] std::span<const LockKey> keys_of(const Break& request);
    [[nodiscard]] std::span<const LockKey> keys_of(const Holders& request);
    [[nodiscard]] std::span<const LockKey> keys_of(const ByLockId auto& request);

    std::optional<Located> located_;
    KeysOf keys_of_owner_;
    bool writes_ = false;
    std::vector<Entry> entries_;
    std::vector<Wanted> wanted_;
    std::vector<std::size_t> slots_;
    // The store must load how the leases with these ids ended.
    std::vector<LockId> brought_ids_;  // of tries
    std::vector<LockId> named_ids_;    // of all other requests
    std::vector<Tried> tried_;
    std::deque<std::vector<LockKey>> owned_;
};

}  // namespace leasehold
