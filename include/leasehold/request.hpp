#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <leasehold/errors.hpp>
#include <leasehold/key_set.hpp>
#include <leasehold/lease.hpp>
#include <leasehold/lock_id.hpp>
#include <leasehold/lock_key.hpp>
#include <leasehold/queries.hpp>
#include <leasehold/request_fwd.hpp>
#include <leasehold/time.hpp>

// What a store can be asked. LockManager's functions make these requests; its submit() takes one.
namespace leasehold {

// The lock id of a try: a LockId, of which Leasehold remembers whether it has just drawn it itself.
class TryLockId {
public:
    // The nil id, which no store takes.
    TryLockId() noexcept = default;
    TryLockId(LockId from_caller) noexcept : id_{from_caller} {}  // NOLINT(*-explicit-*)

    operator LockId() const noexcept { return id_; }  // NOLINT(*-explicit-*)
    [[nodiscard]] std::string to_string() const { return id_.to_string(); }

private:
    friend class FreshLockId;
    LockId id_{};
    bool fresh_ = false;
};

// Takes the key, or is refused as held. The same request with the same lock id again gets the same
// lease, or the reason why that lease ended: a lock id that died never lives again.
struct TryLock {
    LockKey key;
    TryLockId lock_id{};
    std::string owner{};
    Mode mode = Mode::exclusive;
    Duration ttl{};
    std::string note{};
    std::optional<Fence> since{};  // grant only if nobody was granted the key after this fence
    std::optional<Duration> max_hold{};
    // For a shared try: refused as held while this many live leases share the key.
    std::optional<std::size_t> places{};
    // The id of the token through which the owner asks; a server with tokens sets it. The owner's
    // live lease is given back only to a try with the same token id; to any other it is held.
    std::string token_id{};
};

// Takes every key or none. `lock_ids[i]` is for `keys[i]`; the keys are sorted and different.
struct TryLockAll {
    std::vector<LockKey> keys{};
    std::vector<TryLockId> lock_ids{};
    std::string owner{};
    Mode mode = Mode::exclusive;
    Duration ttl{};
    std::string note{};
    std::optional<Duration> max_hold{};
    std::optional<std::size_t> places{};  // as in TryLock, for each key
    std::string token_id{};               // as in TryLock
};

// Asks whether a lease is alive. Writes nothing.
struct Check {
    std::optional<LockKey> key{};  // if given, a lock id of another key is refused
    LockId lock_id{};
};

// Adds to the expiry, up to `max_ttl` ahead of now. (LockManager sets `max_ttl` and every
// `max_hold`.)
struct Extend {
    std::optional<LockKey> key{};
    LockId lock_id{};
    Duration by{};
    Duration max_ttl = until_released;
    std::optional<Duration> max_hold{};
};

// Sets the expiry to now + ttl; never shortens it.
struct Renew {
    std::optional<LockKey> key{};
    LockId lock_id{};
    Duration ttl{};
    std::optional<Duration> max_hold{};
};

// Ends a lease.
struct Release {
    std::optional<LockKey> key{};
    LockId lock_id{};
    // If given, a lease that was prolonged since, and has another expiry, is refused as held.
    std::optional<Time> if_expires_at{};
    std::string by{};  // for the history: the name of the token that a server's client has shown
};

// Ends all leases of an owner.
struct ReleaseAll {
    std::string owner{};
    OwnerScope scope = OwnerScope::exact;
    std::optional<LockKey> key{};  // if given, only the leases on this key
    std::string by{};              // as in Release
    // If not empty, only the leases that were taken with this token id or one below it, "id/...".
    std::string token_id{};
    KeySet only_keys{};  // only the leases on these keys
};

// Ends the lease that has exactly this fence.
struct Break {
    LockKey key;
    Fence fence = 0;
    std::string by{};
    std::string reason{};
};

// Asks who holds a key.
struct Holders {
    LockKey key;
};

// Forgets leases that ended longer than the retention ago. Looks at no more than `rows` keys, and
// continues from there with the next Purge.
struct Purge {
    std::size_t rows = 1000;
};

struct Purged {
    std::size_t forgotten = 0;
    bool complete = false;  // the last key was looked at, and no history is left to forget
};

// An answer in the form in which LockManager's functions return it: Result<Lease>,
// Result<std::vector<Lease>>, HolderPage, HistoryPage or Purged. Throws the StoreFault in the
// answer.
template <class T>
[[nodiscard]] T result_of(Outcome&& outcome);

}  // namespace leasehold
